// Filter of the matrix: kept in the address, so that a link shows the same cells.
const form = document.forms[0], found = form.querySelector("output");
const rows = [...document.querySelectorAll(".atlas tbody tr")].map(row => [row, [...row.querySelectorAll("td[data-text]")]]);
const all = rows.reduce((sum, [, cells]) => sum + cells.length, 0);
const show = () => {
  const wanted = form.q.value.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const [row, cells] of rows) {
    const before = shown;
    for (const cell of cells) {
      const off = !wanted.every(word => cell.dataset.text.includes(word));
      cell.classList.toggle("off", off);
      if (!off) shown += 1;
    }
    row.classList.toggle("off", shown === before);
  }
  found.value = shown + " of " + all;
};
const read = () => { form.q.value = decodeURIComponent(location.hash.slice(3)); show(); };
form.hidden = false;
form.oninput = () => { history.replaceState(null, "", "#q=" + encodeURIComponent(form.q.value)); show(); };
form.onsubmit = event => event.preventDefault();
addEventListener("hashchange", read);
read();
