"use strict";
const bars = [...document.querySelectorAll(".bar")];
const open = (hash) => {
  const step = hash && document.getElementById(hash.slice(1));
  if (!step || step.tagName !== "DETAILS") return;
  step.open = true;
  step.querySelector("summary").focus();
  step.scrollIntoView({ block: "nearest" });
};
bars.forEach((bar, i) => {
  bar.addEventListener("click", (e) => {
    e.preventDefault();
    history.replaceState(null, "", bar.getAttribute("href"));
    open(bar.getAttribute("href"));
  });
  bar.addEventListener("keydown", (e) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: bars.length - 1 }[e.key];
    if (to === undefined || !bars[to]) return;
    e.preventDefault();
    bars[to].focus();
  });
});
open(location.hash);
