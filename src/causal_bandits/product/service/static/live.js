// Live pages: when a study changes, the page is fetched again and <main> is replaced. Nothing else here.
"use strict";
(() => {
  const body = document.body;
  const light = document.getElementById("live");
  const LEAST = 1500; // milliseconds between two refreshes
  const KINDS = ["created", "asked", "told", "abandoned", "expired", "arms", "imported", "annotated", "corrected", "excluded", "included", "finished", "closed", "counted"];
  let paused = false, due = false, busy = false, last = Date.now(), timer = 0, source = null;

  const words = document.createElement("span");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  light.append(words, button);
  light.hidden = false;

  function say(state, text) {
    light.dataset.state = state;
    words.textContent = text;
    button.textContent = paused ? "Resume" : "Pause";
    button.hidden = state === "ended";
  }

  function changed() {
    due = true;
    if (paused || busy || timer || document.hidden) return;
    timer = setTimeout(refresh, Math.max(0, last + LEAST - Date.now()));
  }

  async function refresh() {
    timer = 0;
    if (paused || busy || document.hidden) return;
    busy = true;
    due = false;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.ok) {
        swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
      } else {
        end(answer.status === 401 ? "Signed out; reload to sign in" : "No longer live");
      }
    } catch {
      say("lost", "Connection lost");
    }
    busy = false;
    last = Date.now();
    if (due || body.dataset.stale) changed();
  }

  // A form that somebody has begun to fill in is left alone.
  function filledIn(root) {
    const active = document.activeElement;
    return [...root.querySelectorAll("input, select, textarea")].some((field) => field === active || (field.options
      ? [...field.options].some((option) => option.selected !== option.defaultSelected) && field.selectedIndex > 0
      : field.value !== field.defaultValue));
  }

  // Replace the content, but keep what the reader did: open details, focus, scroll position.
  function swap(fresh) {
    const old = document.querySelector("main"), made = fresh.querySelector("main");
    if (!made || old.innerHTML === made.innerHTML || filledIn(old)) return;
    const each = (root, what) => [...root.querySelectorAll(what)];
    const open = each(old, "details").map((d) => d.open);
    const sideways = each(old, ".scroll").map((d) => d.scrollLeft);
    const focused = each(old, "a, button, summary").indexOf(document.activeElement);
    const height = scrollY;
    each(made, "details").forEach((d, n) => { d.open = Boolean(open[n]); });
    old.replaceChildren(...made.childNodes);
    each(old, ".scroll").forEach((d, n) => { d.scrollLeft = sideways[n] || 0; });
    if (focused >= 0) each(old, "a, button, summary")[focused]?.focus({ preventScroll: true });
    if (scrollY !== height) scrollTo({ top: height, behavior: "instant" });
    document.title = fresh.title;
    if (fresh.body.dataset.stale) body.dataset.stale = "yes"; else delete body.dataset.stale;
    body.dataset.updates = String(Number(body.dataset.updates || 0) + 1);
  }

  function end(text) {
    source?.close();
    paused = true;
    say("ended", text);
  }

  button.addEventListener("click", () => {
    paused = !paused;
    say(paused ? "paused" : "on", paused ? "Paused" : "Live");
    if (!paused && due) changed();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && due) changed(); });

  if (body.dataset.events) {
    source = new EventSource(body.dataset.events);
    source.addEventListener("open", () => { if (!paused) say("on", "Live"); });
    source.addEventListener("error", () => { if (!paused) say("lost", "Connecting"); });
    source.addEventListener("gone", () => end("This study is gone"));
    for (const kind of KINDS) source.addEventListener(kind, changed);
    say("lost", "Connecting");
    if (body.dataset.stale) changed();
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  } else if (body.dataset.poll) {
    say("on", "Live");
    setInterval(changed, 1000 * Number(body.dataset.poll));
  }
})();
