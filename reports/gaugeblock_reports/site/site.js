'use strict';
(() => {
  const themes = ['system', 'light', 'dark'];
  const remembered = () => { try { return localStorage.getItem('gaugeblock-theme'); } catch { return null; } };
  let theme = themes.includes(remembered()) ? remembered() : 'system';
  const show = () => {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  show();
  const ready = () => {
    const button = document.getElementById('theme');
    const word = button.querySelector('span');
    button.hidden = false;
    word.textContent = theme;
    button.addEventListener('click', () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      try { localStorage.setItem('gaugeblock-theme', theme); } catch { /* a page without storage forgets it */ }
      word.textContent = theme;
      show();
    });
    const form = document.getElementById('search');
    if (form) search(form);
  };
  const search = form => {
    const items = [...document.querySelectorAll('[data-words]')];
    const told = form.querySelector('output');
    const groups = [...document.querySelectorAll('[data-group]')];
    const filter = () => {
      const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = form.kind ? form.kind.value : '';
      let count = 0;
      for (const item of items) {
        const fits = words.every(word => item.dataset.words.includes(word)) && (!chosen || item.dataset.kind === chosen);
        item.hidden = !fits;
        count += fits;
      }
      for (const group of groups) group.hidden = !group.querySelector('[data-words]:not([hidden])');
      told.textContent = count === items.length ? `${count} in all` : `${count} of ${items.length}`;
    };
    form.hidden = false;
    form.addEventListener('input', filter);
    form.addEventListener('submit', event => event.preventDefault());
    document.addEventListener('keydown', event => {
      const typing = event.target.closest('input, select, textarea');
      if (event.key === '/' && !typing) { event.preventDefault(); form.q.focus(); }
      if (event.key === 'Escape' && event.target === form.q) { form.q.value = ''; filter(); }
    });
    filter();
  };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', ready);
  else ready();
})();
