// look.mjs CHROMIUM PAGE OUT: opens a report in a browser, works it by keyboard, and leaves screenshots in the folder OUT.
import assert from "node:assert/strict";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [chromium, page, out] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const tab = await browser.newPage();
  const wrong = [], asked = [];
  tab.on("console", (m) => wrong.push(m.text()));
  tab.on("pageerror", (e) => wrong.push(String(e)));
  tab.on("dialog", (d) => { wrong.push(`dialog: ${d.message()}`); d.dismiss(); });
  tab.on("request", (r) => asked.push(r.url()));
  await tab.setViewport({ width: 1100, height: 1400 });
  await tab.goto(`file://${page}`);
  assert.deepEqual(asked, [`file://${page}`], "it loads nothing beside itself");

  const bars = await tab.$$(".bar");
  assert(bars.length >= 5, `${bars.length} bars`);
  const box = await bars[bars.length - 1].boundingBox();
  assert(box.height > 50 && box.width > 2, JSON.stringify(box));

  const used = await tab.$$eval(".usage rect", (all) => all.map((r) => r.getBoundingClientRect().height));
  assert(used.length >= 2 && Math.max(...used) > 50, `usage ${used}`);

  // by keyboard alone: to the chart, along it, into a step, and back with the link that skips it
  const focused = () => tab.evaluate(() => document.activeElement.getAttribute("href") ?? document.activeElement.parentElement.id);
  await tab.keyboard.press("Tab");
  assert.equal(await focused(), "#steps");
  await tab.keyboard.press("Tab");
  assert.equal(await focused(), "#step-1");
  await tab.keyboard.press("ArrowRight");
  await tab.keyboard.press("ArrowRight");
  assert.equal(await focused(), "#step-3");
  await tab.keyboard.press("End");
  assert.equal(await focused(), `#step-${bars.length}`);
  await tab.keyboard.press("Enter");
  assert.equal(await focused(), `step-${bars.length}`);
  const opened = await tab.$eval(`#step-${bars.length}`, (d) => [d.open, d.innerText]);
  assert(opened[0] && opened[1].includes("Entered") && opened[1].includes("Left"), opened[1]);

  const ground = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await tab.screenshot({ path: join(out, "light.png") });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  assert.equal(await ground(), "rgb(19, 21, 23)");
  await tab.screenshot({ path: join(out, "dark.png") });

  // text and ground differ enough in both (WCAG 2.2, 1.4.3: 4.5 to 1)
  const contrast = () => tab.evaluate(() => {
    const light = (c) => {
      const [r, g, b] = c.match(/\d+/g).map((v) => { const s = v / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = light(getComputedStyle(document.body).backgroundColor);
    return [...document.querySelectorAll("h1, p, .hint, summary, .said, .kind, dt")].map((e) => {
      const text = light(getComputedStyle(e).color);
      return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    }).sort((a, b) => a - b)[0];
  });
  const dark = await contrast();
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  const light = await contrast();
  assert(dark >= 4.5 && light >= 4.5, `contrast ${light} and ${dark}`);

  // on a telephone nothing is wider than the page
  await tab.setViewport({ width: 380, height: 800 });
  const [wide, has] = await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert(wide <= has, `${wide} of ${has}`);
  assert.deepEqual(wrong, [], "nothing went wrong");
  console.log(`${bars.length} steps; contrast ${light.toFixed(1)} and ${dark.toFixed(1)} to 1`);
} finally {
  await browser.close();
}
