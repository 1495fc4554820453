"""The controller's hand inside a Ray cluster: reserves places, starts a process in each, and tells what becomes of them.

Needs nothing but the standard library and ray. Says everything over one connection to the controller (channel/frame.ts and
channel/handshake.ts have the format), and ends, with all that it started, when that connection or its standard input is lost.
"""

import collections, contextlib, hashlib, hmac, json, os, queue, secrets, shutil, signal  # noqa: E401
import socket, ssl, struct, subprocess, sys, threading, time  # noqa: E401

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
            text = "\n".join([side, id, nonce, challenge["nonce"]])
            return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()

        if not hmac.compare_digest(challenge["proof"], proof("server")):
            sys.exit("The controller at this address does not know the secret: it is another one's.")
        self.send(type="answer", proof=proof("dialer"))
        self.read()  # the welcome; there is none for one who is refused
        self.socket.settimeout(SILENT_S)

    def send(self, **head):
        text = json.dumps(head).encode()
        with self.lock:
            self.socket.sendall(struct.pack("<III", MAGIC, len(text), 0) + text)

    def read(self):
        magic, size, blobs = struct.unpack("<III", self.reader.read(12).ljust(12))
        if magic != MAGIC or blobs:
            raise ConnectionError("the controller closed the connection")
        return json.loads(self.reader.read(size))


class Shim:
    """Holds one process of a rank, which dies with it: by its death signal, and by the end of its standard input."""

    def __init__(self, argv, env, cwd, first_line):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_AUTH_", "RAY_JOB_", "VERL_RAY_"))}
        guard = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(
            guard + argv, **pipes, start_new_session=True, cwd=cwd if os.path.isdir(cwd) else None, env={**kept, **env}
        )
        self.process.stdin.write(first_line.encode() + b"\n")
        self.process.stdin.flush()
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
            text = line.decode(errors="replace").rstrip()
            print(text, flush=True)
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
        self.groups = {}  # placement groups by id
        self.actors = {}  # by rank id
        self.watched = {}  # reference -> (event that it brings, rank id)
        self.waiting = []  # ranks whose placement group is not ready

    def nodes(self, request):
        free = ray._private.state.available_resources_per_node()
        held = collections.defaultdict(list)
        for id, table in placement_group_table().items():
            for bundle, node in table["bundles_to_node_id"].items() if table["state"] == "CREATED" else ():
                held[node].append([table["name"] or id, table["bundles"][bundle]])
        nodes = [
            {"node": n["NodeManagerAddress"], "total": n["Resources"], "free": free.get(n["NodeID"], {}), "held": held[n["NodeID"]]}
            for n in ray.nodes()
            if n["Alive"]
        ]
        self.link.send(type="nodes", request=request, nodes=nodes)

    def start(self, ranks):
        for rank in ranks:
            id, bundles = rank["group"]["id"], rank["group"]["bundles"]
            if id not in self.groups:
                self.groups[id] = placement_group(bundles, strategy="STRICT_PACK", name=id)
            self.waiting.append(rank)

    def place(self):
        for rank in [r for r in self.waiting if self.groups[r["group"]["id"]].wait(0)]:
            self.waiting.remove(rank)
            bundle = PlacementGroupSchedulingStrategy(self.groups[rank["group"]["id"]], rank["bundle"])
            amounts = {**rank["resources"]}
            options = {"num_cpus": amounts.pop("CPU", 0), "num_gpus": amounts.pop("GPU", 0), "resources": amounts}
            shim = ray.remote(Shim).options(**options, max_restarts=0, max_concurrency=4, scheduling_strategy=bundle)
            actor = shim.remote(rank["argv"], rank["env"], rank["cwd"], rank["first_line"])
            self.actors[rank["id"]] = actor
            self.watched[actor.where.remote()] = ("started", rank["id"])
            self.watched[actor.run.remote()] = ("exited", rank["id"])

    def stop(self, id):
        self.waiting = [rank for rank in self.waiting if rank["id"] != id]
        if id in self.actors:
            self.watched[self.actors[id].stop.remote()] = ("stopped", id)

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

    def end(self):
        stopping = [actor.stop.remote() for actor in self.actors.values()]
        if stopping:
            ray.wait(stopping, num_returns=len(stopping), timeout=8)
        for actor in self.actors.values():
            ray.kill(actor)
        for group in self.groups.values():
            remove_placement_group(group)


def told_by(read, commands):
    """Passes commands on until there are no more to come; then nothing may be left, even if Ray does not answer any more."""
    try:
        while True:
            commands.put(read())
    except Exception as error:
        print(f"The driver ends: {error}", file=sys.stderr, flush=True)
        commands.put({"type": "end", "code": 1})
        time.sleep(15)
        os._exit(1)


def beat(link):
    while True:
        time.sleep(1)
        link.send(type="beat")


def main():
    given, commands = os.environ.pop("VERL_RAY_LINK", None), queue.Queue()
    link = Link(**json.loads(given or sys.stdin.buffer.readline()))
    readers = [link.read] if given else [link.read, lambda: json.loads(sys.stdin.buffer.read())]
    for work, *args in [(beat, link)] + [(told_by, read, commands) for read in readers]:
        threading.Thread(target=work, args=args, daemon=True).start()
    ray.init(address=os.environ.get("RAY_ADDRESS"), log_to_driver=False)
    signal.signal(signal.SIGTERM, lambda *_: commands.put({"type": "end", "code": 143}))
    driver = Driver(link)
    link.send(type="ready")
    while True:
        while not commands.empty():
            command = commands.get()
            if command["type"] == "end":
                sys.exit(driver.end() or command.get("code", 0))
            elif command["type"] in ("nodes", "start", "stop"):
                getattr(driver, command["type"])(command["about"])
        driver.place()
        driver.look()


if __name__ == "__main__":
    main()
