// Everything shown comes from the packed data, as text: no markup is ever made of it.
const page = document.documentElement;
const data = await unpacked();
const SIGN = {passed: "✓", failed: "✗", skipped: "–", error: "!", known: "◆", unexpected: "▲", flaky: "~"};
const BAD = new Set(["failed", "error", "unexpected"]);
const WORST = ["error", "failed", "unexpected", "known", "flaky", "passed", "skipped"];
const text = (n) => data.texts[n];
const byId = (id) => document.getElementById(id);

async function unpacked() {
  if (!("DecompressionStream" in globalThis)) {
    page.classList.remove("js");
    document.getElementById("old").hidden = false;
    throw new Error("no DecompressionStream");
  }
  const packed = atob(document.getElementById("data").textContent);
  const bytes = Uint8Array.from(packed, (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function el(tag, about = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (value === false || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

// Cases as objects, in the order of the table's rows.
const cases = data.cases.map((told, index) => {
  const [slug, level, role, backend, group, message, layout, purpose, expectation, origin] = told;
  return {
    index, slug, level: data.levels[level] ?? level, role: text(role), backend: text(backend),
    group: text(group), message: text(message), layout: text(layout), purpose: text(purpose),
    expectation: text(expectation), origin: text(origin),
    clauses: told[10].map(text), reports: told[11].map(text),
  };
});
const bySlug = new Map(cases.map((each) => [each.slug, each]));
const addressOf = (each) => `#/case/${each.slug.split("/").map(encodeURIComponent).join("/")}`;
const cell = (testee, index) => data.cells[data.grid[testee][index]];
const verdictOf = (outcome) => data.verdicts[data.outcomes[outcome][0]];
const worst = data.cells.map((results) =>
  WORST.find((each) => results.some(([outcome]) => verdictOf(outcome) === each)) ?? "");
const verdict = (testee, index) => worst[data.grid[testee][index]];
const searched = (each) => each.text ??=
  [each.slug, each.level, each.purpose, each.expectation, ...each.clauses, ...each.reports].join("\n").toLowerCase();

// The matrix. Rows of a group are made when it is unfolded, so that tens of thousands cost nothing.
const PIECE = 300;
const MOST_CELLS = 60000;
const form = byId("filters");
const matrix = byId("matrix");
const columns = [...data.testees.keys()];
let shown = cases;
const groups = [...document.querySelectorAll("#matrix tbody")].map((body) => ({body, cases: [], shown: []}));
{
  let at = -1;
  let last = null;
  for (const each of cases) {
    if (each.group !== last) { at += 1; last = each.group; }
    groups[at].cases.push(each);
    groups[at].shown.push(each);
  }
}

function rowOf(each) {
  const name = each.slug.startsWith(`${each.group}/`) ? each.slug.slice(each.group.length + 1) : each.slug;
  const link = el("a", {href: addressOf(each)}, name);
  const row = el("tr", {}, el("th", {scope: "row"}, link, el("i", {}, each.level)));
  for (const testee of columns) {
    const found = verdict(testee, each.index);
    const made = row.insertCell();
    made.className = found;
    made.textContent = SIGN[found] ?? "";
  }
  row.case = each;
  return row;
}
function grow(group) {
  const {body} = group;
  const from = body.rows.length - 1;
  body.append(...group.shown.slice(from, from + PIECE).map(rowOf));
  const left = group.shown.length - from - PIECE;
  if (left <= 0) return;
  const more = el("button", {type: "button"}, `${Math.min(left, PIECE)} more of ${left.toLocaleString("en")}`);
  const row = el("tr", {class: "m"}, el("th", {}, more), el("td", {colspan: columns.length}));
  more.addEventListener("click", () => { row.remove(); grow(group); });
  body.append(row);
}
function fill(group) {
  while (group.body.rows.length > 1) group.body.deleteRow(-1);
  if (group.body.classList.contains("open")) grow(group);
}

const FITS = {
  bad: (found) => found.some((each) => BAD.has(each)),
  fails: (found) => found.some((each) => BAD.has(each) || each === "known"),
  differs: (found) => new Set(found.filter((each) => each && each !== "skipped")).size > 1,
};

function fits(each, wanted) {
  if (wanted.level && each.level !== wanted.level) return false;
  if (wanted.backend && each.backend !== wanted.backend) return false;
  if (wanted.role && each.role !== wanted.role) return false;
  if (wanted.group && each.group !== wanted.group) return false;
  if (!wanted.words.every((word) => searched(each).includes(word))) return false;
  if (!wanted.verdict && wanted.testee === "") return true;
  const asked = wanted.testee === "" ? columns : [Number(wanted.testee)];
  const found = asked.map((testee) => verdict(testee, each.index));
  if (!wanted.verdict) return found.some(Boolean);
  return FITS[wanted.verdict] ? FITS[wanted.verdict](found) : found.includes(wanted.verdict);
}

function filter() {
  const wanted = Object.fromEntries(new FormData(form));
  const active = Object.values(wanted).some(Boolean);
  wanted.words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
  shown = cases.filter((each) => fits(each, wanted));
  const kept = new Set(shown);
  for (const group of groups) {
    group.shown = group.cases.filter((each) => kept.has(each));
    group.body.hidden = group.shown.length === 0;
  }
  if (active) unfold(shown.length <= 400 || wanted.group !== "");
  else groups.forEach(fill);
  const many = cases.length.toLocaleString("en");
  byId("shown").textContent = active ? `${shown.length.toLocaleString("en")} of ${many} cases` : `${many} cases`;
  byId("none").hidden = shown.length > 0;
  return wanted;
}

function fold(group, open) {
  group.body.classList.toggle("open", open);
  group.body.rows[0].querySelector("button").setAttribute("aria-expanded", String(open));
  fill(group);
}
function unfold(open) {
  let room = MOST_CELLS / Math.max(columns.length, 1);
  for (const group of groups) {
    const fits = open && !group.body.hidden && room > 0;
    if (fits) room -= Math.min(group.shown.length, PIECE);
    fold(group, fits);
  }
  byId("unfold").textContent = open ? "Fold all" : "Unfold all";
}

function remember() {
  const kept = [...new FormData(form)].filter(([, value]) => value !== "");
  const query = new URLSearchParams(kept).toString();
  history.replaceState(null, "", query ? `#/?${query}` : "#/");
}
form.addEventListener("input", () => { filter(); remember(); });
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(() => { filter(); unfold(false); remember(); }));
byId("unfold").addEventListener("click", () => unfold(byId("unfold").textContent === "Unfold all"));

function placeOf(target) {
  const at = target.closest("td");
  const each = at?.parentElement.case;
  return each ? {each, testee: at.cellIndex - 1} : null;
}
matrix.addEventListener("click", (event) => {
  const head = event.target.closest("tr.g");
  const group = head && groups.find(({body}) => body === head.parentElement);
  if (group) return fold(group, !group.body.classList.contains("open"));
  const place = placeOf(event.target);
  if (place && verdict(place.testee, place.each.index)) location.hash = addressOf(place.each);
});
matrix.addEventListener("mouseover", (event) => {
  const place = placeOf(event.target);
  const whole = event.target.closest("tr.g td");
  if (whole) whole.title = `${data.testees[whole.cellIndex - 1].target}: ${whole.textContent}`;
  if (!place) return;
  const found = verdict(place.testee, place.each.index) || "not run";
  event.target.closest("td").title = `${data.testees[place.testee].target}: ${found}\n${place.each.purpose}`;
});

// The page of one case: what it is, then its outcomes, each with all that had it.
function outcomesOf(each) {
  const found = new Map();
  for (const testee of columns) {
    for (const [outcome, span] of cell(testee, each.index)) {
      if (!found.has(outcome)) found.set(outcome, []);
      found.get(outcome).push({target: data.testees[testee].target, releases: data.spans[span]});
    }
  }
  const rank = (outcome) => WORST.indexOf(verdictOf(outcome));
  return [...found].sort(([a], [b]) => rank(a) - rank(b));
}

function filled(template, each, target, release) {
  const values = {"\u0001": each.slug, "\u0002": target, "\u0003": release};
  return template.replace(/[\u0001-\u0003]/g, (mark) => values[mark]);
}

function copier(code) {
  const button = el("button", {type: "button", "aria-label": "Copy the command"}, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return button;
}

function reruns(template, each, whom, open) {
  if (!template) return null;
  const lines = [...new Set(whom.flatMap(({target, releases}) =>
    releases.map((release) => filled(template, each, target, release))))];
  const made = lines.map((line) => {
    const code = el("code", {tabindex: "0"}, line);
    return el("div", {class: "rerun"}, code, copier(code));
  });
  if (made.length === 1 && open) return made[0];
  const title = made.length === 1 ? "Command that reruns it" : `${made.length} commands that rerun it`;
  return el("details", {class: "more"}, el("summary", {}, title), ...made);
}

function ascii(hex) {
  if (!/^(?:[2-6][0-9a-f]|7[0-9a-e])+$/.test(hex)) return "";
  return `"${hex.replace(/../g, (pair) => String.fromCharCode(parseInt(pair, 16)))}"`;
}
function frameRow(frame, position, name) {
  const [hex, rest] = data.frames[frame].split("…");
  const size = rest ? rest.replace(/[^\d]/g, "") : hex.length / 2;
  const words = rest ? "" : ascii(hex);
  const bytes = hex ? hex.replace(/(.{8})(?=.)/g, "$1 ") + (rest ? " …" : "") : "(empty)";
  return el("tr", {}, el("td", {class: "n"}, String(position)), el("td", {class: "name"}, name ?? ""),
    el("td", {class: "n size"}, String(size)), el("td", {class: "hex"}, words || bytes,
      words ? el("span", {class: "note"}, ` ${bytes}`) : null));
}
function wire([line, at], whom) {
  const [way, told, frames, names] = data.lines[line];
  const count = frames.length ? `${frames.length} frame${frames.length === 1 ? "" : "s"}` : "";
  const releases = [...new Set(whom.flatMap((one) => one.releases))];
  const words = text(told).replaceAll("\u0003", spanOf(releases));
  const about = [words, count, at ? `at ${at} s` : ""].filter(Boolean).join(", ");
  const arrow = {sent: "→ sent", came: "← came"}[way] ?? `· ${way}`;
  const head = el("p", {}, el("b", {}, arrow), " ", about);
  if (!frames.length) return el("div", {class: "wire"}, head);
  const known = data.names[names];
  const body = el("tbody", {}, ...frames.map((frame, n) => frameRow(frame, n, known[n])));
  const titles = el("tr", {}, el("th", {class: "n", scope: "col"}, "#"), el("th", {scope: "col"}, "field"),
    el("th", {class: "n size", scope: "col"}, "bytes"), el("th", {scope: "col"}, "value"));
  return el("div", {class: "wire"}, head, el("table", {}, el("thead", {}, titles), body));
}

function linkTo(address) {
  const safe = /^https?:\/\//i.test(address);
  return safe ? el("a", {href: address, rel: "noopener noreferrer"}, address) : el("span", {}, address);
}
function pairs(...told) {
  const kept = told.filter(([, value]) => value !== "" && value !== null);
  return el("dl", {}, ...kept.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function releasesOf({target, releases}) {
  const named = releases.filter((release) => release && !target.endsWith(`==${release}`));
  return named.length ? ` ${spanOf(named)}` : "";
}
function spanOf(releases) {
  if (releases.length <= 3) return releases.join(", ");
  return `${releases[0]} to ${releases.at(-1)} (${releases.length} releases)`;
}
function outcomeSection([outcome, whom], each) {
  const [, expected, came, reason, link, rerun, trace] = data.outcomes[outcome];
  const name = verdictOf(outcome);
  const who = whom.flatMap((one, n) => [n ? ", " : "", one.target, el("small", {}, releasesOf(one))]);
  const head = el("header", {}, el("span", {class: `mark ${name}`}, `${SIGN[name]} ${name}`),
    el("span", {class: "whom"}, ...who));
  const versus = !text(expected) && !text(came) ? null : el("div", {class: "versus"},
    el("div", {}, el("b", {}, "expected"), el("code", {}, text(expected) || "–")),
    el("div", {}, el("b", {}, "came"), el("code", {}, text(came) || "–")));
  const why = text(reason) || text(link)
    ? pairs(["Reason", text(reason)], ["See", text(link) ? linkTo(text(link)) : ""]) : null;
  return el("section", {class: "outcome"}, head,
    el("div", {}, versus, why, ...trace.map((line) => wire(line, whom)), reruns(text(rerun), each, whom, BAD.has(name) || name === "known")));
}

function neighbours(each) {
  const listed = shown.includes(each) ? shown : cases;
  const at = listed.indexOf(each);
  return {before: listed[at - 1], after: listed[at + 1], at: at + 1, of: listed.length};
}
function step(label, each) {
  return each ? el("a", {href: addressOf(each)}, label)
    : el("a", {"aria-disabled": "true"}, label);
}
function draw(each) {
  const {before, after, at, of} = neighbours(each);
  const back = el("a", {href: "#/", id: "back"}, "← Matrix");
  back.addEventListener("click", (event) => { event.preventDefault(); leave(); });
  const tags = [[each.level, "tag level"], [each.role, "tag"], [each.backend, "tag"],
    [[each.message, each.layout].filter(Boolean).join(" "), "tag"]];
  byId("case").replaceChildren(
    el("nav", {"aria-label": "Cases"}, back, step("↑ Previous", before), step("↓ Next", after),
      el("span", {}, `${at.toLocaleString("en")} of ${of.toLocaleString("en")}`)),
    el("h2", {class: "slug"}, each.slug),
    el("p", {class: "tags"}, ...tags.filter(([value]) => value).map(([value, kind]) => el("span", {class: kind}, value))),
    pairs(["Purpose", each.purpose], ["Expectation", each.expectation],
      ["Clauses", list(each.clauses)], ["Field reports", each.reports.join(", ")], ["Origin", each.origin]),
    ...outcomesOf(each).map((outcome) => outcomeSection(outcome, each)));
}
function list(values) {
  return values.length ? el("span", {}, ...values.flatMap((each, n) => [n ? ", " : "", el("code", {}, each)])) : "";
}

let query = "";
let scrolled = {pane: 0, page: 0};
function leave() { location.hash = query ? `#/?${query}` : "#/"; }
function route() {
  const hash = location.hash;
  const wanted = hash.startsWith("#/case/") ? hash.slice("#/case/".length) : "";
  const each = wanted ? bySlug.get(safelyDecoded(wanted)) : undefined;
  const came = byId("case").hidden;
  if (each) {
    if (came) scrolled = {pane: matrix.scrollTop, page: scrollY};
    draw(each);
  } else if (hash.startsWith("#/?") || hash === "#/") {
    query = hash.slice(3);
    restore(new URLSearchParams(query));
  }
  byId("overview").hidden = Boolean(each);
  byId("case").hidden = !each;
  document.title = each ? `${each.slug}: pdwire conformance` : "pdwire conformance";
  if (each) { scrollTo(0, 0); byId("case").focus({preventScroll: true}); }
  else if (!came) { matrix.scrollTop = scrolled.pane; scrollTo(0, scrolled.page); }
}
function safelyDecoded(value) {
  try { return decodeURIComponent(value); } catch { return value; }
}
function restore(wanted) {
  const now = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  if (now.toString() === wanted.toString()) return;
  for (const field of form.elements) if (field.name) field.value = wanted.get(field.name) ?? "";
  filter();
}
addEventListener("hashchange", route);
form.addEventListener("input", () => { query = location.hash.slice(3); });
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  const open = !byId("case").hidden;
  if (event.key === "Escape" && open) leave();
  else if (typing) return;
  else if (event.key === "/" && !open) { event.preventDefault(); form.elements.q.focus(); }
  else if (open && (event.key === "j" || event.key === "k")) {
    const links = byId("case").querySelectorAll("nav a");
    links[event.key === "k" ? 1 : 2].click();
  }
});

byId("theme").addEventListener("click", () => {
  const dark = page.dataset.theme ? page.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  page.dataset.theme = dark ? "light" : "dark";
});
if (matchMedia("(max-width: 600px)").matches && columns.length > 1) {
  document.querySelector("details.testees").open = false;
}
// What is not clean is unfolded at first, if it is not too much to look at.
const broken = groups.filter(({body}) => body.rows[0].querySelector("td.failed,td.error,td.unexpected"));
if (groups.length === 1) fold(groups[0], true);
else if (broken.length <= 3) broken.forEach((group) => fold(group, true));
route();
