// Filter of the matrix: kept in the address, so that a link shows the same cells.
const form = document.forms[0], cells = [...document.querySelectorAll("td[data-text]")];
const show = () => {
  const wanted = form.q.value.toLowerCase().split(/\s+/);
  for (const cell of cells) cell.classList.toggle("off", !wanted.every(word => cell.dataset.text.includes(word)));
  for (const row of document.querySelectorAll("tbody tr")) row.hidden = !row.querySelector("td[data-text]:not(.off)");
};
const read = () => { form.q.value = decodeURIComponent(location.hash.slice(3)); show(); };
form.hidden = false;
form.oninput = () => { location.replace("#q=" + encodeURIComponent(form.q.value)); show(); };
form.onsubmit = event => event.preventDefault();
addEventListener("hashchange", read);
read();
