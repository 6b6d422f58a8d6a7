"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const lower = (node) => (node ? node.textContent.toLowerCase() : "");
  const search = document.getElementById("search");
  if (!search) return;
  const status = document.getElementById("status");
  const filters = document.getElementById("filters");
  const rows = all("main tbody tr").map((row) => ({
    row,
    text: lower(row),
    isChange: Boolean(filters) && row.closest("#changes-rows") !== null,
    topic: lower(row.querySelector("[data-column=topics]")),
    broker: lower(row.querySelector("[data-column=broker_name]")),
    cause: lower(row.querySelector("[data-column=why]")),
    hour: (row.closest("details.fold") || { dataset: {} }).dataset.title || "",
  }));
  const folds = all("main details.fold");
  let openBefore = null;

  const wanted = () => {
    const value = (name) => (filters ? filters.elements[name].value.trim() : "");
    return {
      text: search.value.trim().toLowerCase(),
      topic: value("topic").toLowerCase(),
      broker: value("broker").toLowerCase(),
      cause: value("cause").toLowerCase(),
      hour: value("hour"),
    };
  };
  const fits = (each, want) =>
    each.text.includes(want.text) &&
    (!each.isChange ||
      (each.topic.includes(want.topic) &&
        each.broker.includes(want.broker) &&
        (want.cause === "" || each.cause === want.cause) &&
        (want.hour === "" || each.hour === want.hour)));

  const foldAsBefore = () => {
    if (openBefore) folds.forEach((fold) => { fold.open = openBefore.has(fold); fold.hidden = false; });
    openBefore = null;
  };
  const openHits = (isFiltered) => {
    if (!openBefore) openBefore = new Set(folds.filter((fold) => fold.open));
    folds.forEach((fold) => {
      const hits = all("tbody tr:not([hidden])", fold).length;
      const isTouched = isFiltered(fold);
      fold.hidden = isTouched && hits === 0;
      fold.open = isTouched ? hits > 0 : openBefore.has(fold);
    });
  };
  const apply = () => {
    const want = wanted();
    const ofChanges = [want.topic, want.broker, want.cause, want.hour].some((value) => value !== "");
    let shown = 0;
    rows.forEach((each) => {
      each.row.hidden = !fits(each, want);
      if (!each.row.hidden && (want.text !== "" || each.isChange)) shown += 1;
      if (want.text !== "" && !each.row.hidden) {
        all("details.names", each.row).forEach((names) => {
          if (lower(names).includes(want.text)) names.open = true;
        });
      }
    });
    if (want.text === "" && !ofChanges) {
      foldAsBefore();
      status.textContent = "";
      return;
    }
    openHits((fold) => want.text !== "" || fold.closest("#changes-rows") !== null);
    const where = want.text === "" ? "changes" : "rows";
    status.textContent = `${shown.toLocaleString("en")} ${where} shown`;
  };

  if (filters) {
    const fill = (name, values) => values.forEach((value) => {
      const option = document.createElement("option");
      option.textContent = value;
      option.value = value;
      filters.elements[name].append(option);
    });
    const causes = all("#changes-rows [data-column=why]").map((cell) => cell.textContent.trim());
    fill("cause", [...new Set(causes)].sort());
    fill("hour", all("#changes-rows details.fold").map((fold) => fold.dataset.title));
    rows.forEach((each) => { each.cause = each.cause.trim(); });
    filters.addEventListener("input", apply);
    filters.addEventListener("submit", (event) => event.preventDefault());
    filters.addEventListener("reset", () => setTimeout(apply));
  }
  search.addEventListener("input", apply);
  const foldAll = (isOpen) => all("main details:not(.names)").forEach((each) => { each.open = isOpen; });
  document.getElementById("unfold").addEventListener("click", () => foldAll(true));
  document.getElementById("fold").addEventListener("click", () => foldAll(false));
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const section = target && target.closest("section");
    if (section) section.querySelector("details").open = true;
  };
  window.addEventListener("hashchange", openTarget);
  openTarget();
  document.documentElement.classList.add("scripted");
})();
