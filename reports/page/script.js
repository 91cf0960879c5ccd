"use strict";
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  const tools = document.getElementById("tools");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const clauses = [...document.querySelectorAll("#list > details")];
  const buttons = [...tools.querySelectorAll("button[data-verdict]")];
  tools.hidden = false;

  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(buttons.filter((one) => one.getAttribute("aria-pressed") === "true").map((one) => one.dataset.verdict));
    let count = 0;
    for (const clause of clauses) {
      const text = clause.dataset.text;
      const fits = (wanted.size === 0 || wanted.has(clause.dataset.verdict)) && words.every((word) => text.includes(word));
      clause.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${clauses.length}`;
    nothing.hidden = count > 0;
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") === "true" ? "false" : "true");
      apply();
    });
  }
  search.addEventListener("input", apply);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { search.value = ""; apply(); }
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); search.focus(); }
  });

  const open = () => {
    const found = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    if (found instanceof HTMLDetailsElement) { found.hidden = false; found.open = true; found.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();

  for (const button of document.querySelectorAll("button[data-copy]")) {
    const text = button.parentElement.querySelector("pre").textContent;
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", () => navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; }));
  }
  apply();
})();
