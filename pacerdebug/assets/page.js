"use strict";
// All text from the server goes into the page as text: nothing here makes HTML of it.

const $ = (id) => document.getElementById(id);
const wish = { search: "", sort: "", open: "", rows: 50, pace: 1 };
const span = 60;

// What durations, in milliseconds, are called.
function time(ms) {
  const s = ms / 1000;
  if (ms < 1000) return `${ms} ms`;
  if (s < 10) return `${Math.ceil(s * 10) / 10} s`;
  if (s < 120) return `${Math.ceil(s)} s`;
  const two = (big, small, a, b) => `${Math.floor(big)} ${a}` + (Math.floor(small) ? ` ${Math.floor(small)} ${b}` : "");
  if (s < 7200) return two(s / 60, s % 60, "min", "s");
  if (s < 172800) return two(s / 3600, (s / 60) % 60, "h", "min");
  return two(s / 86400, (s / 3600) % 24, "d", "h");
}
const number = (n) => n.toLocaleString("en");
const round = (n) => Math.round(n * 10) / 10;
const quoted = (s) => `“${s}”`;
const count = (n, one, more = one + "s") => `${number(n)} ${n === 1 ? one : more}`;

// make returns a new element with attributes and children.
function make(name, attributes = {}, ...children) {
  const svg = ["svg", "path", "title"].includes(name);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

// The page is touched only where something changes.
function say(e, text) {
  text = String(text);
  if (e.textContent !== text) e.textContent = text;
}
function set(e, name, value) {
  if (value === null || value === false) { if (e.hasAttribute(name)) e.removeAttribute(name); return; }
  value = String(value);
  if (e.getAttribute(name) !== value) e.setAttribute(name, value);
}
function show(e, yes) { if (e.hidden === yes) e.hidden = !yes; }

// list makes the children of an element those of items, by key, and keeps the elements that are there.
function list(parent, items, key, create, update) {
  const old = new Map();
  for (const e of parent.children) old.set(e.dataset.key, e);
  let place = parent.firstElementChild;
  items.forEach((item, i) => {
    const k = String(key(item, i));
    let e = old.get(k);
    if (!e) { e = create(item); e.dataset.key = k; }
    old.delete(k);
    update(e, item);
    if (e === place) place = place.nextElementSibling;
    else parent.insertBefore(e, place);
  });
  for (const e of old.values()) e.remove();
}

// A chart is 60 bars, of this second on the right; refusals hang below the line.
function figure(classes) {
  const f = make("figure", {}, make("figcaption"), make("svg", { role: "img", viewBox: "0 0 60 24", preserveAspectRatio: "none" }, make("title")));
  for (const c of classes) f.lastChild.append(make("path", { class: c, d: "" }));
  f.lastChild.append(make("path", { class: "zero", d: "" }));
  return f;
}
function bars(numbers, most, zero, height) {
  if (!numbers) return "";
  let d = "";
  numbers.forEach((n, x) => {
    if (n > 0) d += `M${x + 0.1} ${zero}h.8v${round(Math.sign(height) * Math.max(1, Math.abs(height) * n / most))}h-.8z`;
  });
  return d;
}
const most = (...all) => Math.max(1, ...all.map((numbers) => numbers ? Math.max(...numbers) : 0));
function drawTraffic(f, m, observe) {
  const top = most(m.wentEach, m.refusedEach);
  const refused = (m.refused || 0) + (m.failed || 0);
  let text = count(m.went || 0, "request") + " went";
  if (m.refused) text += `, ${number(m.refused)} refused by the server`;
  if (m.failed) text += `, ${number(m.failed)} ${observe ? "would not have been sent" : "not sent, or not again"}`;
  say(f.children[0], text);
  const [title, went, down, line] = f.children[1].children;
  say(title, text + (m.went || refused ? `; at most ${number(top)} in a second` : ""));
  const zero = refused ? 15 : 24;
  set(went, "d", bars(m.wentEach, top, zero, -(zero - 1)));
  set(down, "d", bars(m.refusedEach, top, zero, 24 - zero));
  set(line, "d", `M0 ${zero - 0.2}h60`);
}
function drawWaits(f, m, observe, waiting) {
  let text = waiting ? "no wait has ended" : observe ? "none would have waited" : "none waited";
  if (m.waits) {
    text = `${number(m.waits)} ${observe ? "would have waited" : "waited"}, the longest ${time(m.longest)}`;
    if (m.waits > 1) text += `, ${time(m.waited)} in all`;
  }
  say(f.children[0], text);
  const [title, waited, line] = f.children[1].children;
  say(title, text);
  set(waited, "d", bars(m.longestEach, most(m.longestEach), 24, -23));
  set(line, "d", "M0 23.8h60");
}
function charts(parent, m, observe, waiting) {
  if (!parent.firstChild) parent.append(figure(["went", "refused"]), figure(["waited"]));
  drawTraffic(parent.children[0], m, observe);
  drawWaits(parent.children[1], m, observe, waiting);
}
function axes(parent) {
  for (const f of parent.children) {
    if (f.tagName === "FIGURE" && f.children.length < 3) f.append(make("div", { class: "axis", "aria-hidden": "true" }, make("span"), make("span"), make("span")));
  }
  for (const a of parent.querySelectorAll(".axis")) { say(a.children[0], "a minute ago"); say(a.children[1], "30 s"); say(a.children[2], "now"); }
}

// What is waited for, as a sentence.
function cause(w) {
  return w.cause + (w.quota ? " " + quoted(w.quota) : "") + (w.bucket ? " of " + w.bucket : "");
}
function marks(r) {
  const all = [];
  const words = {
    blocked: ["nothing goes", "bad"], store: ["store not reached", "bad"], failing: ["not sent", "bad"],
    held: ["held", "bad"], refused: ["refused", "bad"], waiting: ["waiting", "slow"],
  };
  if (r.trouble) all.push(words[r.trouble]);
  if (r.observe) all.push(["observed only", "plain"]);
  return all;
}
function now(r) {
  const all = [];
  if (r.hold) {
    let text = `Held for ${time(r.hold.for)}`;
    if (r.hold.status) text += `: the server answered ${r.hold.status}, ${time(r.hold.ago || 0)} ago`;
    all.push(text);
  }
  if (r.next && r.next.never) all.push(`Nothing goes: ${r.next.never}`);
  else if (r.next && !(r.hold && r.next.cause === "hold")) all.push(next(r.next));
  if (!all.length) all.push("Free: a request goes at once");
  if (r.slowStart) all.push(`Slow start: ${r.slowStart} at once at most`);
  if (r.store) {
    if (r.store.error) all.push(`Store not reached${r.store.down ? " for " + time(r.store.down) : ""}: ${r.store.error}`);
    else all.push(`Shared by ${count(r.store.members, "process", "processes")}, ${number(r.store.hand)} in hand`);
  }
  if (r.budget.left < r.budget.of) {
    all.push(r.budget.left < 1 ? "Retry budget used up" : `Retry budget: ${round(r.budget.left)} of ${r.budget.of}`);
  }
  return all;
}
const next = (n) => (n.in ? `A new request waits ${time(n.in)}: ` : "A new request waits for an answer: ") + cause(n);

function level(l) {
  const name = l.quota || "the server’s limit";
  let left = l.limit ? `${number(l.available)} of ${number(l.limit)}` : `${number(l.available)} left`;
  if (l.unit) left += " " + l.unit;
  if (l.reset) left += `, back in ${time(l.reset)}`;
  if (l.past) left += " as last heard";
  return [name + (l.of ? ` (${l.of})` : "") + (l.stated && l.quota ? " – stated by the server" : ""), left];
}
function levels(parent, limits, at) {
  list(parent, limits.slice(0, at), (l, i) => i, () => make("div", { class: "level" },
    make("div", { class: "what" }, make("span"), make("span")), make("div", { class: "bar", "aria-hidden": "true" }, make("div"))),
  (e, l) => {
    const [name, left] = level(l);
    say(e.children[0].children[0], name);
    say(e.children[0].children[1], left);
    const part = l.limit ? Math.max(0, Math.min(1, l.available / l.limit)) : l.available > 0 ? 1 : 0;
    set(e.children[1], "class", "bar" + (l.past ? "" : l.available <= 0 ? " out" : part <= 0.2 ? " low" : ""));
    const width = `${round(part * 100)}%`;
    if (e.children[1].firstChild.style.width !== width) e.children[1].firstChild.style.width = width;
  });
}
function more(parent, limits, at, least) {
  let e = parent.nextElementSibling;
  if (!e) { e = make("p", { class: "quiet" }); parent.after(e); }
  const left = limits.length - at;
  show(e, left > 0 || Boolean(least));
  say(e, least ? "and others" : `and ${count(left, "other")}`);
}
const lines = (parent, texts) => list(parent, texts, (t, i) => i, () => make("p"), say);

// call writes the name of a bucket, which may be broken after a slash.
function call(e, name) {
  if (e.textContent === name) return;
  e.replaceChildren();
  for (const part of name.split(/(?<=\/)/)) e.append(part, make("wbr"));
}

// A row of a bucket, and below it what is known of the one that is open.
function newRow(r) {
  const name = make("button", { type: "button", class: "name" });
  name.addEventListener("click", () => open(wish.open === r.id ? "" : r.id));
  const cell = (attributes, ...children) => make("td", { role: "cell", ...attributes }, ...children);
  return make("tr", { role: "row" },
    make("th", { role: "rowheader", scope: "row" }, name, make("div")),
    cell({ class: "now" }), cell({ class: "number", "data-label": "in line" }), cell({ class: "number", "data-label": "in flight" }),
    cell({ class: "limits" }, make("div")), cell({ class: "minute" }, make("div", { class: "pair" })));
}
function updateRow(tr, r) {
  const [head, nowCell, waiting, inFlight, limits] = tr.children, minute = tr.lastChild.firstChild;
  call(head.children[0], r.name);
  const isOpen = wish.open === r.id;
  set(head.children[0], "aria-expanded", isOpen);
  set(tr, "class", isOpen ? "open" : "");
  list(head.children[1], marks(r), (m) => m[0], () => make("span"), (e, m) => { say(e, m[0]); set(e, "class", "mark " + m[1]); });
  lines(nowCell, now(r));
  say(waiting, number(r.waiting));
  say(inFlight, number(r.inFlight));
  const all = r.limits || [];
  levels(limits.firstChild, all, 3);
  more(limits.firstChild, all, 3, false);
  if (r.minute) {
    if (!minute.querySelector("figure")) minute.replaceChildren();
    charts(minute, r.minute, r.observe, r.waiting);
  } else if (!minute.firstChild || minute.querySelector("figure")) {
    minute.replaceChildren(make("span", { class: "quiet" }, "no request of its own"));
  }
}
function newDetail() {
  const block = (title, body) => make("section", {}, make("h3", {}, title), body);
  return make("tr", { role: "row", class: "detail" }, make("td", { role: "cell", colspan: "6" },
    make("div", { class: "blocks" },
      block("Why a new request waits", make("div", { class: "why" })),
      block("Who waits", make("div", {}, make("p"), make("ol"))),
      block("What requests waited for in the last minute", make("div", {}, make("p", { class: "quiet" }), make("ul"))),
      block("The latest waits", make("div", {}, make("p", { class: "quiet" }), make("ol"))),
      block("All quotas and limits", make("div", {}, make("div"))),
      block("What is believed of the server", make("div", { class: "beliefs" })),
      block("The last minute", make("div", { class: "charts large" })))));
}
function updateDetail(tr, { row: r, detail: d }) {
  const [why, line, causes, past, limits, beliefs, minute] = [...tr.querySelectorAll("section")].map((s) => s.children[1]);
  const texts = now(r);
  if (r.next && r.next.advice) texts.push(`${r.next.cause}: ${r.next.advice}`);
  lines(why, texts);
  const known = d.known || 0;
  const waiting = Math.max(r.waiting, known);
  let who = "Nobody waits.";
  if (waiting) {
    who = count(waiting, "request waits", "requests wait");
    if (known > (d.line || []).length) who += `; the first ${d.line.length} are`;
    else if (known < waiting) who += known ? `, ${number(known)} of them for this bucket` : "; for what, is shown with the bucket above this one";
    who += known ? ":" : ".";
  }
  say(line.children[0], who);
  list(line.children[1], d.line || [], (w) => w.number, () => make("li", {}, make("strong"), make("span")), (li, w) => {
    say(li.children[0], `${w.method} has waited ${time(w.since)}`);
    say(li.children[1], `${w.of ? " to " + w.of : ""}. When it joined the line it was told ${w.told.for ? time(w.told.for) : "to wait for an answer"}: ${cause(w.told)}`);
  });
  const all = d.causes || [];
  const sum = all.reduce((n, c) => n + c.for, 0);
  say(causes.children[0], sum ? `${time(sum)} in all, of the waits that are over:` : "No wait has ended.");
  list(causes.children[1], all, (c) => c.cause, () => make("li", {}, make("strong"), make("span"), make("div", { class: "bar", "aria-hidden": "true" }, make("div"))), (li, c) => {
    say(li.children[0], time(c.for));
    say(li.children[1], ` ${c.cause}, ${Math.round(100 * c.for / sum)} %`);
    li.children[2].firstChild.style.width = `${round(100 * c.for / sum)}%`;
  });
  say(past.children[0], d.past ? "" : "None is known.");
  show(past.children[0], !d.past);
  list(past.children[1], d.past || [], (w, i) => i, () => make("li", {}, make("strong"), make("span"), make("span", { class: "quiet" })), (li, w) => {
    say(li.children[0], `${w.method} ${w.how && w.how !== "sent again" ? w.how + (w.wait ? " after " + time(w.wait) : "") : (r.observe ? "would have waited " : "waited ") + time(w.wait)}`);
    say(li.children[1], (w.for || []).length ? ": " + w.for.map((p) => `${time(p.for)} ${cause(p)}`).join("; ") : "");
    say(li.children[2], ` – ${time(w.ago)} ago`);
  });
  const ls = r.limits || [];
  levels(limits.firstChild, ls, ls.length);
  more(limits.firstChild, ls, ls.length, r.moreThan);
  lines(beliefs, r.beliefs || ["Nothing special."]);
  charts(minute, r.minute || {}, r.observe, r.waiting);
  axes(minute);
}

// Rows keep their order while somebody is about to click, and are put in order every few seconds.
let pointed = 0, ordered = 0;
function inOrder(rows) {
  const body = $("rows"), at = Date.now();
  if (at - ordered > 4000 && at - pointed > 3000 && !body.contains(document.activeElement)) { ordered = at; return rows; }
  const place = new Map([...body.children].map((e, i) => [e.dataset.key, i]));
  const rank = (r) => place.has(r.id) ? place.get(r.id) : Infinity;
  return rows.map((r, i) => [r, i]).sort((a, b) => rank(a[0]) === rank(b[0]) ? a[1] - b[1] : rank(a[0]) - rank(b[0])).map((x) => x[0]);
}

let latest = null, told = 0;
function render(v) {
  latest = v;
  show($("untraced"), !v.traced);
  const s = v.stats;
  list($("tiles"), [
    ["buckets", number(s.buckets)], ["held", number(s.held)], ["in line", number(s.waiting)], ["in flight", number(s.inFlight)],
    ["have waited", number(s.waits)], ["waited in all", time(s.waited)], ["refused by servers", number(s.refused)], ["sent again", number(s.retried)],
    ["not sent", number(s.notSent)], ["not sent again", number(s.gaveUp)],
  ], (t) => t[0], (t) => make("div", {}, make("dt", {}, t[0]), make("dd")), (e, t) => say(e.children[1], t[1]));
  show($("all"), v.traced);
  if (v.traced) { charts($("all"), v.minute || {}, false, s.waiting); axes($("all")); }

  const items = [];
  for (const r of inOrder(v.rows)) {
    items.push({ key: r.id, row: r });
    if (v.open && v.open.id === r.id && wish.open === r.id) items.push({ key: r.id + " detail", row: r, detail: v.open });
  }
  list($("rows"), items, (i) => i.key, (i) => i.detail ? newDetail() : newRow(i.row), (e, i) => i.detail ? updateDetail(e, i) : updateRow(e, i.row));
  const shown = v.rows.length;
  say($("found"), `${wish.search ? count(v.found, "match", "matches") : count(v.found, "bucket")}${shown < v.found ? `, ${shown} shown` : ""}`);
  show($("empty"), v.found === 0);
  say($("empty"), wish.search ? "No bucket matches." : "No bucket is remembered: there was no request yet, or none lately.");
  show($("more"), shown < v.found && wish.rows < 500);
  say($("more"), "Show 50 more");
  if (Date.now() - told >= 10000) {
    told = Date.now();
    say($("status"), `${count(s.held, "bucket")} held, ${count(s.waiting, "request")} in line.`);
  }
}

// Events, or polling where these do not come through.
let source = null, timer = 0, watch = 0, polls = !window.EventSource, heard = 0, size = 0;
function url(as) {
  const q = new URLSearchParams({ as, rows: wish.rows, pace: wish.pace || 1 });
  for (const k of ["search", "sort", "open"]) if (wish[k]) q.set(k, wish[k]);
  return "?" + q;
}
function stop() {
  if (source) source.close();
  source = null;
  clearTimeout(timer);
  clearTimeout(watch);
}
function got(text) {
  heard = Date.now();
  size = text.length;
  render(JSON.parse(text));
  status();
}
function connect() {
  stop();
  if (document.hidden) return;
  if (polls || !wish.pace) { poll(); return; }
  source = new EventSource(url("events"));
  let any = false;
  const give = () => { polls = true; connect(); };
  watch = setTimeout(() => { if (!any) give(); }, 4000);
  source.onmessage = (e) => { any = true; got(e.data); };
  source.onerror = () => { if (source && source.readyState === EventSource.CLOSED) give(); };
}
let asked = 0;
async function poll() {
  const mine = ++asked;
  try {
    const resp = await fetch(url("json"), { cache: "no-store" });
    if (!resp.ok) throw new Error(resp.status);
    const text = await resp.text();
    if (mine === asked) got(text);
  } catch { status(); }
  if (mine === asked && wish.pace && polls) timer = setTimeout(poll, 1000 * wish.pace);
}
function status() {
  const silent = Date.now() - heard, e = $("live");
  let state = "on", text = polls ? "live, by polling" : "live";
  if (!wish.pace) { state = "paused"; text = "paused"; }
  else if (!heard) { state = "wait"; text = "connecting"; }
  else if (silent > 1000 * wish.pace + 4000) { state = "off"; text = `no answer for ${time(Math.floor(silent / 1000) * 1000)}: what you see is old`; }
  set(e, "class", "live " + state);
  say(e, text);
  if (latest) say($("cost"), `Reading the Transport took ${Math.max(0.1, round(latest.took))} ms, at most once a second for all who look. An update has ${number(Math.ceil(size / 1000))} kB.${latest.uncharted ? " Some buckets have no charts, since there are too many." : ""}`);
}
setInterval(status, 1000);

// What somebody wishes to see is kept behind the # of the URL, so that a reload shows the same.
function keep() {
  const q = new URLSearchParams();
  for (const k of ["search", "sort", "open"]) if (wish[k]) q.set(k, wish[k]);
  if (wish.pace !== 1) q.set("pace", wish.pace);
  history.replaceState(null, "", q.size ? "#" + q : location.pathname + location.search);
}
function change() { ordered = 0; keep(); connect(); status(); }
function open(id) {
  wish.open = id;
  if (latest) { latest.open = latest.open && latest.open.id === id ? latest.open : null; render(latest); }
  keep();
  connect();
}
function begin() {
  const q = new URLSearchParams(location.hash.slice(1));
  for (const k of ["search", "sort", "open"]) wish[k] = q.get(k) || "";
  if (["0", "5"].includes(q.get("pace"))) wish.pace = Number(q.get("pace"));
  $("search").value = wish.search;
  $("sort").value = wish.sort;
  $("pace").value = String(wish.pace);
  let typing = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => { wish.search = $("search").value; wish.rows = 50; change(); }, 200);
  });
  $("sort").addEventListener("change", () => { wish.sort = $("sort").value; change(); });
  $("pace").addEventListener("change", () => { wish.pace = Number($("pace").value); change(); });
  $("more").addEventListener("click", () => { wish.rows += 50; change(); });
  $("rows").addEventListener("pointermove", () => { pointed = Date.now(); });
  $("rows").addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !wish.open) return;
    const button = document.querySelector(".name[aria-expanded=true]");
    open("");
    if (button) button.focus();
  });
  document.addEventListener("visibilitychange", connect);
  window.addEventListener("hashchange", () => location.reload());
  say($("where"), location.host);
  document.title = `pacer at ${location.host}`;
  status();
  connect();
}
begin();
