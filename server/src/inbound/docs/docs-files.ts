// The style sheet and the script of the page /docs. The script searches the calls, copies the examples, and puts the
// address of this service into them.

export const DOCS_STYLE = `:root{color-scheme:light dark;--ground:#fff;--ink:#17171c;--soft:#5c5c66;--line:#dcdce2;--sunken:#f5f5f7;--link:#4338ca;
--get:#1d5fb8;--post:#14713a;--change:#8a5a00;--delete:#b3261e}
@media (prefers-color-scheme:dark){:root{--ground:#0f0f13;--ink:#ececf1;--soft:#a3a3ae;--line:#2c2c34;--sunken:#19191f;--link:#a5a0ff;
--get:#7cb4ff;--post:#5fd38d;--change:#eab45c;--delete:#ff8f88}}
*{box-sizing:border-box}[hidden]{display:none!important}html{scroll-padding-top:4.5rem}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,sans-serif}a{color:var(--link)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;z-index:2;background:var(--ground)}
header{position:sticky;top:0;z-index:1;display:flex;gap:.4rem 1.5rem;align-items:center;flex-wrap:wrap;padding:.7rem 1.5rem;background:var(--ground);border-bottom:1px solid var(--line)}
h1{font-size:1.1rem;margin:0}h1 small{font-weight:400;color:var(--soft)}[role=search]{display:flex;align-items:center;gap:.8rem;flex:1 1 16rem}
input{flex:1 1 12rem;min-width:0;max-width:30rem;font:inherit;color:inherit;background:var(--sunken);border:1px solid var(--line);border-radius:.4rem;padding:.35rem .7rem}
#found{margin:0;font-size:.85rem;color:var(--soft);white-space:nowrap}
.page{display:grid;grid-template-columns:17rem minmax(0,1fr);max-width:92rem;margin:0 auto}
nav{position:sticky;top:3.6rem;align-self:start;max-height:calc(100vh - 3.6rem);overflow:auto;padding:1rem 0 2rem 1.5rem;font-size:.85rem}
nav summary{display:none}nav ol{list-style:none;margin:0;padding:0}nav>details>ol>li{margin:.2rem 0 .7rem}nav li li a{font-family:ui-monospace,monospace;font-size:.76rem;overflow-wrap:anywhere}
nav a{display:block;padding:.1rem 0;color:var(--soft);text-decoration:none}nav>details>ol>li>a{color:var(--ink);font-weight:600}nav a:hover{color:var(--link)}
nav li li a{display:grid;grid-template-columns:3.4rem minmax(0,1fr);align-items:baseline}nav b{font-size:.66rem}
main{padding:0 1.5rem 4rem;min-width:0}h2{margin:2.5rem 0 1rem;font-size:1.3rem}
article{margin:1rem 0;padding:1rem 1.2rem;border:1px solid var(--line);border-radius:.6rem}article:target{border-color:var(--link)}
h3{margin:0;font-size:.95rem;overflow-wrap:anywhere}h3 a{color:inherit;text-decoration:none}h3 b{display:inline-block;min-width:4rem;font-size:.78rem;letter-spacing:.04em}
p{margin:.5rem 0}.GET{color:var(--get)}.POST{color:var(--post)}.PUT,.PATCH{color:var(--change)}.DELETE{color:var(--delete)}
.examples{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:0 1rem}figure{margin:.6rem 0;min-width:0;position:relative}
figcaption{font-size:.75rem;color:var(--soft);font-weight:600}
code,pre{font:.82rem/1.5 ui-monospace,monospace}pre{margin:.2rem 0;background:var(--sunken);border:1px solid var(--line);padding:.7rem;border-radius:.4rem;overflow:auto;max-height:26rem;white-space:pre-wrap;overflow-wrap:anywhere}
figure button{position:absolute;right:0;top:-.15rem;font:600 .75rem system-ui,sans-serif;color:var(--link);background:none;border:0;padding:.1rem .3rem;cursor:pointer}
.wide{overflow:auto}table{border-collapse:collapse;width:100%;font-size:.88rem;margin:.6rem 0}
td,th{text-align:left;padding:.3rem .8rem .3rem 0;border-top:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}
details{margin:.3rem 0}summary{cursor:pointer;font-size:.88rem;color:var(--soft)}
@media (max-width:900px){.page{display:block}nav{position:static;max-height:none;padding:.6rem 1rem 0}nav summary{display:list-item;padding:.4rem 0}header{padding:.6rem 1rem}main{padding:0 1rem 3rem}article{padding:.8rem}h3 b{min-width:0;margin-right:.4rem}}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
`;

export const DOCS_SCRIPT = `'use strict';
const contents = document.querySelector('nav details');
if (matchMedia('(max-width: 900px)').matches) contents.open = false;
contents.addEventListener('click', (event) => {
  if (event.target.closest('a') && matchMedia('(max-width: 900px)').matches) contents.open = false;
});

// The address of this service, whatever path a proxy puts in front.
const base = new URL('.', location.href).href.replace(/\\/$/, '');
for (const pre of document.querySelectorAll('figure pre')) {
  pre.textContent = pre.textContent.replaceAll('http://127.0.0.1:8411', base);
}

// Over plain HTTP from another machine, browsers give scripts no clipboard.
if (navigator.clipboard) {
  for (const figure of document.querySelectorAll('figure')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.setAttribute('aria-label', 'Copy ' + figure.querySelector('figcaption').textContent);
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(figure.querySelector('pre').textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
    figure.append(button);
  }
}

const search = document.querySelector('#search');
const found = document.querySelector('#found');
const rows = [...document.querySelectorAll('#errors tbody tr')];
const calls = [...document.querySelectorAll('article')].map((article) => ({
  article,
  entry: document.querySelector('[data-call="' + article.id + '"]'),
  // The text that is searched: without the schemas, which name everything.
  text: [...article.querySelectorAll('h3, p, td:not(:nth-child(2))')].map((part) => part.textContent).join(' ').toLowerCase(),
}));

function show() {
  const words = search.value.toLowerCase().split(/\\s+/).filter((word) => word !== '');
  const fits = (text) => words.every((word) => text.includes(word));
  let count = 0;
  for (const { article, entry, text } of calls) {
    const isShown = fits(text);
    article.hidden = entry.hidden = !isShown;
    if (isShown) count += 1;
    for (const details of article.querySelectorAll('.parameters')) details.open = words.length > 0 && isShown;
  }
  let errors = 0;
  for (const row of rows) {
    row.hidden = !fits(row.textContent.toLowerCase());
    if (!row.hidden) errors += 1;
  }
  for (const section of document.querySelectorAll('main section')) {
    const isEmpty = section.id === 'start' ? words.length > 0 : section.id === 'errors' ? errors === 0 : !section.querySelector('article:not([hidden])');
    section.hidden = isEmpty;
    const link = document.querySelector('nav a[href="#' + section.id + '"]');
    link.parentElement.hidden = isEmpty;
  }
  found.textContent = words.length === 0 ? '' : count === 1 ? '1 call' : count + ' calls';
}

document.querySelector('[role=search]').hidden = false;
search.addEventListener('input', show);
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== search && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  } else if (event.key === 'Escape' && search.value !== '') {
    search.value = '';
    show();
  }
});
show();
`;
