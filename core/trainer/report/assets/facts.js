function showFacts() {
  const { facts } = data;
  if (!facts) return;
  byId("facts").hidden = false;
  const rows = [
    ["Started", new Date(facts.started_at).toLocaleString()],
    ["Command", facts.command],
    ["Seed", facts.seed],
    [
      "Versions",
      Object.entries(facts.versions ?? {})
        .map(([name, version]) => `${name} ${version}`)
        .join(", "),
    ],
  ];
  fill(
    byId("fact-list"),
    ...rows
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]),
  );
  byId("config-filter").addEventListener("input", drawConfig);
  byId("config-set").addEventListener("change", drawConfig);
  drawConfig();
}

function drawConfig() {
  const wanted = matcher(byId("config-filter").value);
  const onlySet = byId("config-set").checked;
  const all = data.facts.config;
  const rows = all.filter(
    ({ path, value, origin }) =>
      (!onlySet || origin !== "default") && wanted(`${path} ${JSON.stringify(value)} ${origin}`),
  );
  byId("config-count").textContent = `${rows.length} of ${all.length} values`;
  fill(
    byId("config"),
    h("tr", {}, h("th", {}, "Key"), h("th", {}, "Value"), h("th", {}, "From")),
    ...rows.map(({ path, value, origin }) =>
      h(
        "tr",
        {},
        h("td", {}, h("code", {}, path)),
        h("td", {}, h("code", {}, JSON.stringify(value))),
        h("td", { class: "muted" }, origin),
      ),
    ),
  );
}
