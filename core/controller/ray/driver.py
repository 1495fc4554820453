"""The controller's hand inside a Ray cluster: reserves places, starts a process in each, and tells what becomes of them.

Needs nothing but the standard library and ray. Says everything over one connection to the controller (channel/frame.ts and
channel/handshake.ts have the format), and ends, with all that it started, when that connection or its standard input is lost.
"""

import collections, contextlib, hmac, json, os, queue, re, secrets, shutil, signal, socket  # noqa: E401
import ssl, struct, subprocess, sys, threading, time  # noqa: E401

import ray
from ray.util import get_node_ip_address, placement_group, placement_group_table, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

MAGIC = 0x6C726576
SILENT_S = 60  # without a word of the controller


class Link:
    """One authenticated connection to the controller."""
    def __init__(self, host, port, id, secret, certificate=None):
        self.socket = socket.create_connection((host, port), timeout=10)
        if certificate:
            context = ssl.create_default_context(cadata=certificate)
            context.check_hostname = False  # the certificate itself is pinned
            self.socket = context.wrap_socket(self.socket)
        self.lock, self.reader = threading.Lock(), self.socket.makefile("rb")
        nonce = secrets.token_hex(16)
        self.send(type="hello", protocol=1, id=id, nonce=nonce)
        challenge = self.read()

        def proof(side):
            return hmac.new(secret.encode(), "\n".join([side, id, nonce, challenge["nonce"]]).encode(), "sha256").hexdigest()

        if not hmac.compare_digest(challenge["proof"], proof("server")):
            sys.exit("The controller at this address does not know the secret: it is another one's.")
        self.send(type="answer", proof=proof("dialer"))
        self.read()  # the welcome; there is none for one who is refused
        self.socket.settimeout(SILENT_S)

    def send(self, **head):
        text = json.dumps(head).encode()
        with self.lock, contextlib.suppress(OSError):  # `read` tells of a lost connection
            self.socket.sendall(struct.pack("<III", MAGIC, len(text), 0) + text)

    def read(self):
        magic, size, blobs = struct.unpack("<III", self.reader.read(12).ljust(12))
        if magic != MAGIC or blobs:
            raise ConnectionError("the controller closed the connection")
        return json.loads(self.reader.read(size))

    def beat(self):
        while True:
            time.sleep(1)
            self.send(type="beat")


class Shim:
    """Holds one process of a rank, which dies with it: by its death signal, and by the end of its standard input."""
    def __init__(self, argv, env, cwd, first_line):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_AUTH_", "RAY_JOB_", "VERL_RAY_"))}
        guard = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        own = {"env": {**kept, **env}, "cwd": cwd if os.path.isdir(cwd) else None, "start_new_session": True}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(guard + argv, **own, **pipes)
        with contextlib.suppress(OSError):  # `run` tells of a process that has ended already
            os.write(self.process.stdin.fileno(), first_line.encode() + b"\n")
        threading.Thread(target=self.follow, args=(os.getppid(),), daemon=True).start()

    def follow(self, raylet):
        while os.getppid() == raylet:
            time.sleep(1)
        os._exit(1)  # by itself, an actor stays for a long time

    def where(self):
        return {"ip": get_node_ip_address(), "pid": self.process.pid}

    def run(self):
        tail = collections.deque(maxlen=20)
        for line in self.process.stdout:
            print(text := line.decode(errors="replace").rstrip(), flush=True)
            if not re.match(r" *\d+: 0x", text):  # frames of native code, which push out what they are the frames of
                tail.append(text[:1000])
        return {"code": self.process.wait(), "tail": "\n".join(tail)}

    def stop(self):
        for number, seconds in ((signal.SIGTERM, 2), (signal.SIGKILL, 5)):
            with contextlib.suppress(subprocess.TimeoutExpired, ProcessLookupError):
                os.killpg(self.process.pid, number)
                return self.process.wait(seconds)


class Driver:
    def __init__(self, link):
        self.link = link
        self.groups = {}  # placement groups by pool and id
        self.ranks = {}  # orders by rank id, until the rank is gone
        self.actors = {}  # by rank id
        self.watched = {}  # reference -> (event that it brings, rank id)

    def nodes(self, request):
        free, held = ray._private.state.available_resources_per_node(), collections.defaultdict(list)
        for id, table in placement_group_table().items():
            for bundle, node in table["bundles_to_node_id"].items():
                if any(id in name for name in free.get(node, {})):  # so long its places are not free, removed or not
                    held[node].append([table["name"] or id, table["bundles"][bundle], table["state"] == "REMOVED"])
        self.link.send(type="nodes", request=request, nodes=[
            {"node": n["NodeManagerAddress"], "total": n["Resources"], "free": free.get(n["NodeID"], {}), "held": held[n["NodeID"]]}
            for n in ray.nodes() if n["Alive"]
        ])

    def start(self, ranks):
        self.ranks.update({rank["id"]: rank for rank in ranks})

    def place(self):
        for id, rank in self.ranks.items():
            groups, name = self.groups.setdefault(rank["pool"], {}), rank["group"]["id"]
            if name not in groups:
                groups[name] = placement_group(rank["group"]["bundles"], strategy="STRICT_PACK", name=name)
            if id in self.actors or not groups[name].wait(0):
                continue
            bundle, amounts = PlacementGroupSchedulingStrategy(groups[name], rank["bundle"]), {**rank["resources"]}
            options = {"num_cpus": amounts.pop("CPU", 0), "num_gpus": amounts.pop("GPU", 0), "resources": amounts}
            shim = ray.remote(Shim).options(**options, max_restarts=0, max_concurrency=4, scheduling_strategy=bundle)
            actor = self.actors[id] = shim.remote(rank["argv"], rank["env"], rank["cwd"], rank["first_line"])
            self.watched[actor.where.remote()] = ("started", id)
            self.watched[actor.run.remote()] = ("exited", id)
            self.link.send(type="placed", id=id)

    def stop(self, id):
        if id not in self.actors:
            self.forget(id)
        elif ("started", id) in self.watched.values():
            ray.kill(self.actors[id])  # it may be waiting for its share of the place, for ever
        else:
            self.watched[self.actors[id].stop.remote()] = ("stopped", id)

    def forget(self, id):
        pool = self.ranks.pop(id, {}).get("pool")  # its places are given back with its last rank
        unused = {} if any(rank["pool"] == pool for rank in self.ranks.values()) else self.groups.pop(pool, {})
        for group in unused.values():
            remove_placement_group(group)

    def look(self):
        ready, _ = ray.wait(list(self.watched), timeout=0.1) if self.watched else ([], time.sleep(0.05))
        for reference in ready:
            event, id = self.watched.pop(reference)
            try:
                value = ray.get(reference)
            except ray.exceptions.RayError as error:
                event, value = "lost", {"reason": " ".join(str(error).split())[:500]}
            if id in self.actors and event != "stopped":
                self.link.send(type=event, id=id, **value)
                if event != "started":
                    ray.kill(self.actors.pop(id))
                    self.forget(id)

    def end(self, code):
        for id in list(self.ranks):
            self.stop(id)
        limit = time.monotonic() + 8
        while self.actors and time.monotonic() < limit:
            self.look()
        sys.exit(code)


def told_by(read, commands):
    """Passes commands on until there are no more to come; then nothing may be left, even if Ray does not answer any more."""
    try:
        while True:
            commands.put(read())
    except Exception as error:
        commands.put({"type": "end", "about": 1})
        with contextlib.suppress(OSError):  # it may be the controller who read that, and is gone
            print(f"The driver ends: {error}", file=sys.stderr, flush=True)
        time.sleep(15)
        os._exit(1)


def main():
    given, commands = os.environ.pop("VERL_RAY_LINK", None), queue.SimpleQueue()
    link = Link(**json.loads(given or sys.stdin.buffer.readline()))
    readers = [link.read] if given else [link.read, lambda: json.loads(os.read(0, 1))]
    for work, *args in [(link.beat,)] + [(told_by, read, commands) for read in readers]:
        threading.Thread(target=work, args=args, daemon=True).start()
    ray.init(address=os.environ.get("RAY_ADDRESS"), log_to_driver=False)
    signal.signal(signal.SIGTERM, lambda *_: commands.put({"type": "end", "about": 143}))
    driver = Driver(link)
    link.send(type="ready")
    while True:
        while not commands.empty():
            command = commands.get()
            if command["type"] in ("nodes", "start", "stop", "end"):
                getattr(driver, command["type"])(command["about"])
        driver.place()
        driver.look()


if __name__ == "__main__":
    main()
