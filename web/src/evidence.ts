// The evidence: every trial as a point, linked to what happened in it.

import { axis, draw, ink, tooltip } from './charts';
import { byId, el, fill, harmless } from './dom';
import { duration, quantity, roundNumbers, scaleOf } from './number';
import { STATUS, type TrialRow } from './summary';
import type { App } from './main';

const MOST_ROWS = 60;

export class EvidencePlot {
  readonly #box = byId('evidence');
  readonly #canvas = el('div', { class: 'chart' });
  readonly #said = el('p', { class: 'faint' });
  #bound = false;

  constructor(readonly app: App) {
    if (!this.#box) return;
    const metric = app.summary.verdict.metric;
    fill(this.#box, el('h2', {}, 'The evidence: every trial'),
      el('p', { class: 'faint' }, `${metric} of each trial, one point each; a line is the median. Choose a point to look into its trial, or the trial by its round below.`),
      this.#said, this.#canvas);
    this.draw();
  }

  draw(): void {
    if (!this.#box) return;
    const { app } = this;
    const all = app.shown();
    const shown = all.slice(0, MOST_ROWS);
    this.#said.textContent = all.length > shown.length ? `The first ${shown.length} of ${all.length} stacks, in the order of the table; filter or sort it for others.` : '';
    const metric = app.summary.verdict.metric;
    const trials: TrialRow[] = [];
    const points = shown.flatMap((stack, row) => app.candidates(stack).flatMap((candidate) => app.trials(candidate)
      .filter((trial) => trial[4] !== null).map((trial) => {
        trials.push(trial);
        return { value: [trial[4], row], status: trial[3] };
      })));
    const scale = scaleOf(app.unit(metric), points.map((point) => Number(point.value[0])));
    this.#canvas.style.height = `${Math.max(6, shown.length * 1.35 + 4)}rem`;
    const colours = (): Record<number, string> => {
      const { mark, doubt, bad } = ink();
      return { 0: mark, 1: doubt, 2: bad };
    };
    const values = points.map((point) => Number(point.value[0])).filter((value) => value > 0);
    const wide = values.length > 0 && Math.max(...values) / Math.min(...values) > 5;
    const ticks = wide ? roundNumbers(Math.min(...values) / scale.divisor, Math.max(...values) / scale.divisor).map((number) => number * scale.divisor) : [];
    const chart = draw(this.#canvas, `${trials.length} trials of ${shown.length} stacks`, () => ({
      grid: { left: 8, right: 24, top: 8, bottom: 28, containLabel: true },
      tooltip: tooltip((given) => {
        const trial = trials[(given as { dataIndex: number }).dataIndex];
        if (!trial) return '';
        return `${harmless(app.label(app.summary.candidates[trial[2]]?.[0] ?? -1))}\nround ${trial[1] + 1}, trial ${trial[0]}: ${STATUS[trial[3]] ?? ''}\n${quantity(app.unit(metric), trial[4])}\ntook ${duration(trial[5])}`;
      }),
      xAxis: axis({ type: wide ? 'log' : 'value', scale: true, ...(wide ? { min: ticks[0], max: ticks[ticks.length - 1], axisTick: { customValues: ticks } } : {}), name: scale.symbol, nameLocation: 'end',
        axisLabel: { ...(wide ? { customValues: ticks } : {}), formatter: (value: number) => Number((value / scale.divisor).toPrecision(3)).toString(), hideOverlap: true } }),
      yAxis: axis({ type: 'category', inverse: true, data: shown.map((stack) => harmless(app.label(stack))),
        axisLabel: { width: 220, overflow: 'truncate' }, splitLine: { show: true, lineStyle: { color: ink().line } } }),
      series: [
        { type: 'scatter', symbolSize: 7, cursor: 'pointer', data: points.map((point) => ({ value: point.value, itemStyle: { color: colours()[point.status], opacity: 0.55 } })) },
        { type: 'scatter', silent: true, symbol: 'rect', symbolSize: [2.5, 15], itemStyle: { color: ink().ink },
          data: shown.map((stack, row) => [app.median(stack, metric), row]).filter(([value]) => value !== null) },
      ],
    }));
    if (!this.#bound) {
      this.#bound = true;
      chart.on('click', (given) => {
        const current = this.#trials[given.dataIndex];
        if (given.seriesIndex === 0 && current) this.app.openTrial(current);
      });
    }
    this.#trials = trials;
  }

  #trials: TrialRow[] = [];
}
