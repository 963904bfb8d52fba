// What pages do beside showing: keys, times in the reader's own zone, and notices. It sets
// no markup, and answers nothing for anybody.
"use strict";

const $ = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// A code of `reeve console` stands behind the # of the address, which no server sees.
const login = $("#login");
if (login && location.hash.length > 20) {
  $("#secret").value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  login.requestSubmit();
}

// Times: the node writes them in UTC, a reader lives elsewhere.
const zone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
function times(within) {
  for (const t of all("time[datetime]", within)) {
    const at = new Date(t.dateTime);
    if (isNaN(at)) continue;
    t.title = t.dateTime;
    t.textContent = zone.format(at);
  }
}
times(document);
document.addEventListener("htmx:after:swap", () => { times(document); watch(); });

// What ends is counted down.
setInterval(() => {
  for (const e of all("[data-until]")) {
    const s = Math.max(0, Math.floor((new Date(e.dataset.until) - Date.now()) / 1000));
    e.textContent = s >= 172800 ? Math.floor(s / 86400) + " d" : s >= 7200 ? Math.floor(s / 3600) + " h" : s >= 120 ? Math.floor(s / 60) + " min" : s + " s";
    e.parentElement.classList.toggle("soon", s < 120);
  }
}, 1000);

// An act that another has answered, or that has changed, is no longer answered here.
const opened = $("#standing") ? { ...$("#standing").dataset } : null;
function watch() {
  const now = $("#standing");
  if (!opened || !now) return;
  if (now.dataset.state !== opened.state || now.dataset.decision !== opened.decision) {
    if (opened.state !== "held") { location.reload(); return; } // there was nothing to read but how it goes on
    $("#changed span").textContent = now.dataset.state !== opened.state ? ": it is " + now.dataset.state + " now" : ": the agent has asked for it again";
    $("#changed").hidden = false;
    for (const b of all("[data-answer] button")) b.disabled = true;
  }
}

// An answer is given with a button, not by Enter in a field.
for (const form of all("form[data-answer]")) {
  form.addEventListener("submit", (e) => { if (!e.submitter) e.preventDefault(); });
  form.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && e.target.tagName !== "TEXTAREA") e.preventDefault();
  });
}

// What takes a while says so, and can be stopped: the node ends what nobody waits for.
for (const form of all("form[data-busy]")) {
  const note = $(form.dataset.busy), button = $("button.main", form);
  let tick;
  const ends = () => { clearInterval(tick); note.hidden = true; button.disabled = false; };
  form.addEventListener("submit", () => {
    const began = Date.now();
    note.hidden = false;
    button.disabled = true;
    tick = setInterval(() => { $("span", note).textContent = Math.round((Date.now() - began) / 1000) + " s"; }, 1000);
  });
  $("button", note).addEventListener("click", () => { stop(); ends(); });
  addEventListener("pageshow", ends); // back from what came of it
}

// On a narrow screen the navigation scrolls: where one is stands in it.
const here = $("#nav a[aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - 60;

// Keys.
let going = false;
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select, dialog")) return;
  if (going) {
    going = false;
    const to = all("#nav a[data-key]").find((a) => a.dataset.key === e.key);
    if (to) { e.preventDefault(); location.href = to.href; }
    return;
  }
  switch (e.key) {
    case "g": going = true; setTimeout(() => { going = false; }, 1500); break;
    case "?": e.preventDefault(); $("#help")?.showModal(); break;
    case "/": { const s = $("[data-search]"); if (s) { e.preventDefault(); s.focus(); } break; }
    case "j": case "k": move(e.key === "j" ? 1 : -1); break;
  }
});
function move(by) {
  const rows = all(".row a[href], a.row[href]");
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement);
  rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))].focus();
}
$("[data-help]")?.addEventListener("click", () => $("#help").showModal());

// Notices of the desktop: only that something waits, never what.
const notify = $("[data-notify]");
if ("Notification" in window && isSecureContext) {
  if (notify && Notification.permission === "default") {
    notify.hidden = false;
    notify.addEventListener("click", async () => { await Notification.requestPermission(); notify.hidden = true; });
  }
  let known = new Set(all("#waiting a.act").map((a) => a.getAttribute("href")));
  document.addEventListener("htmx:after:swap", () => {
    const now = all("#waiting a.act").map((a) => a.getAttribute("href"));
    const fresh = now.filter((h) => !known.has(h));
    if (fresh.length && document.hidden && Notification.permission === "granted")
      new Notification("reeve", { body: fresh.length === 1 ? "An act waits for an answer." : fresh.length + " acts wait for an answer.", tag: "reeve" });
    known = new Set(now);
  });
}

// The node may go away: the page says so, and goes on when it is back.
const lost = $("#lost");
document.addEventListener("htmx:error", () => { if (lost) lost.hidden = false; });
document.addEventListener("htmx:after:swap", () => { if (lost) lost.hidden = true; });

// A list that somebody looks at stands still: what comes meanwhile comes afterwards.
let still = false, missed = false;
const pausable = () => $("[data-pausable]");
const looked = () => still || (pausable() && (pausable().matches(":hover") || pausable().contains(document.activeElement) && document.activeElement.matches("a")));
document.addEventListener("htmx:config:request", (e) => {
  if (e.target.closest?.("[data-pausable]") && looked()) {
    e.preventDefault();
    missed = true;
    const note = $("#paused");
    if (note) note.hidden = false;
  }
});
setInterval(() => {
  if (missed && !looked()) {
    missed = false;
    $("#paused").hidden = true;
    htmx.trigger(document.body, "changed");
  }
}, 400);
const pause = $("[data-pause]");
pause?.addEventListener("click", () => {
  still = !still;
  pause.setAttribute("aria-pressed", still);
  pause.textContent = still ? "Go on" : "Pause";
});
