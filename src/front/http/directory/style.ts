/** The style of the directory. The colours are those of the console (`console/page/console.css`). */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f7f9, #0f1218); --card: light-dark(#ffffff, #171b23); --sunk: light-dark(#f1f3f6, #1e232d);
  --line: light-dark(#e0e4ea, #2a313d); --text: light-dark(#1a202c, #e8ecf2); --soft: light-dark(#4a5568, #b8c1ce);
  --accent: light-dark(#4338ca, #a5a8ff); --warn: light-dark(#8a4b00, #f2c06b); --warn-soft: light-dark(#fdf0d8, #372711);
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0 auto; max-width: 960px; padding: 24px 24px 48px; background: var(--ground); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 28px; }
h2 { margin: 0; font-size: 21px; }
h3 { margin: 24px 0 8px; font-size: 16px; }
small { font-size: 14px; font-weight: 400; color: var(--soft); }
p { margin: 6px 0; }
a { color: var(--accent); text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
ul { list-style: none; margin: 0; padding: 0; }
nav ul { display: flex; flex-wrap: wrap; gap: 6px 18px; margin-top: 16px; }
article, section { margin-top: 24px; padding: 24px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
dl { display: grid; grid-template-columns: 8.5em 1fr; gap: 6px 16px; margin: 16px 0 0; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; }
code, pre { font-family: var(--mono); font-size: 14px; }
pre { margin: 8px 0 0; padding: 12px 14px; background: var(--sunk); border: 1px solid var(--line); border-radius: 8px; overflow-x: auto;
  overflow-wrap: normal; line-height: 1.5; }
.cards > li { padding: 12px 0; border-top: 1px solid var(--line); }
.cards > li:first-child { border-top: 0; padding-top: 0; }
.tag { display: inline-block; padding: 0 8px; border: 1px solid var(--line); border-radius: 99px; font-size: 14px; font-weight: 400; color: var(--soft); }
strong.tag { color: var(--warn); background: var(--warn-soft); border-color: currentcolor; }
.soft { color: var(--soft); }
blockquote { margin: 6px 0; padding-left: 12px; border-left: 3px solid var(--line); color: var(--soft); }
details { margin-top: 6px; }
summary { cursor: pointer; color: var(--accent); width: fit-content; }
@media (max-width: 600px) {
  body { padding: 16px 12px 32px; }
  article, section { padding: 16px; }
  dl { grid-template-columns: 1fr; gap: 2px; }
  dd { margin-bottom: 10px; }
}
`
