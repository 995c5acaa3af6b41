"""Define the page at ``/``: queries with their filters and streams with their micro-batches.

The page fetches `/v1/queries` and `/v1/streams` with the token from its own address.
"""

from __future__ import annotations

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Headgate</title>
<style>body{font:14px system-ui;margin:2em}td,th{padding:.2em 1em;text-align:left}</style>
<h1>Headgate</h1>
<table><thead><tr><th>query<th>state<th>version<th>filters<th>bytes</tr></thead><tbody id="queries"></tbody></table>
<h2>Streams</h2>
<table><thead><tr><th>query<th>batch<th>generation<th>late up to<th>late rows<th>NULL<th>files skipped<th>why not</tr>
</thead><tbody id="streams"></tbody></table>
<script>
const token = new URLSearchParams(location.search).get("token") ?? "";
async function ask(address) {
  const answer = await fetch(address, {headers: {Authorization: "Bearer " + token}});
  return answer.ok ? answer.json() : {};
}
function fill(id, lines) {
  document.getElementById(id).replaceChildren(...lines.map(cells => {
    const row = document.createElement("tr");
    for (const text of cells) row.insertCell().textContent = text;
    return row;
  }));
}
function filters(query) {
  const complete = query.filters.filter(filter => filter.complete).length;
  return [query.query, query.state, query.version, `${complete} of ${query.filters.length}`, query.memoryBytes];
}
function batches(stream) {
  return stream.batches.toReversed().flatMap(batch => batch.sources.map(source => [
    stream.query, batch.batchId, batch.generation, source.cutOff ?? "", source.lateRows, source.nullRows,
    `${source.filesSkipped} of ${source.files}`, source.reason || batch.failure]));
}
async function refresh() {
  const [queries, streams] = await Promise.all([ask("v1/queries"), ask("v1/streams")]);
  fill("queries", (queries.queries ?? []).map(filters));
  fill("streams", (streams.streams ?? []).flatMap(batches));
}
refresh();
setInterval(refresh, 1000);
</script>
</html>
"""
