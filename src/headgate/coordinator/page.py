"""Hold the page at ``/``: the queries and their filters, asked from `/v1/queries` with the token in its own address."""

from __future__ import annotations

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Headgate</title>
<style>body{font:14px system-ui;margin:2em}td,th{padding:.2em 1em;text-align:left}</style>
<h1>Headgate</h1>
<table><thead><tr><th>query<th>state<th>version<th>filters<th>bytes</tr></thead><tbody id="queries"></tbody></table>
<script>
const token = new URLSearchParams(location.search).get("token") ?? "";
async function refresh() {
  const answer = await fetch("v1/queries", {headers: {Authorization: "Bearer " + token}});
  if (!answer.ok) return;
  const rows = (await answer.json()).queries.map(query => {
    const row = document.createElement("tr");
    const complete = query.filters.filter(held => held.complete).length;
    const filters = `${complete} of ${query.filters.length}`;
    const cells = [query.query, query.state, query.version, filters, query.memoryBytes];
    for (const text of cells) row.insertCell().textContent = text;
    return row;
  });
  document.getElementById("queries").replaceChildren(...rows);
}
refresh();
setInterval(refresh, 1000);
</script>
</html>
"""
