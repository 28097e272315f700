// The drawing library with only the parts that are used, in the colours of the page.

import * as echarts from 'echarts/core';
import { HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent,
  TitleComponent, ToolboxComponent, TooltipComponent, VisualMapComponent,
} from 'echarts/components';
import { CanvasRenderer } from 'echarts/renderers';
import type { EChartsCoreOption, EChartsType } from 'echarts/core';

echarts.use([
  HeatmapChart, LineChart, ScatterChart, DataZoomComponent, GridComponent, LegendComponent,
  MarkAreaComponent, MarkLineComponent, TitleComponent, ToolboxComponent, TooltipComponent,
  VisualMapComponent, CanvasRenderer,
]);

export type Option = EChartsCoreOption;
export type Chart = EChartsType;

/** Colours of the page, which differ between light and dark. */
export function ink(): Record<'ink' | 'faint' | 'line' | 'page' | 'panel' | 'good' | 'doubt' | 'bad' | 'mark' | 'second' | 'third' | 'fourth' | 'band', string> {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: of('ink'), faint: of('faint'), line: of('line'), page: of('page'), panel: of('panel'),
    good: of('good'), doubt: of('doubt'), bad: of('bad'), mark: of('mark'), second: of('second'),
    third: of('third'), fourth: of('fourth'), band: of('band'),
  };
}

/** Distinct colours for many series: eight of the page, then hues between them. */
export function palette(count = 8): string[] {
  const { mark, second, third, fourth, good, bad, faint, doubt } = ink();
  const more = Array.from({ length: Math.max(0, count - 8) }, (_, index) => `hsl(${Math.round((index * 137.5 + 20) % 360)} 55% 50%)`);
  return [mark, second, third, fourth, good, bad, doubt, faint, ...more];
}

interface Slot {
  chart: Chart;
  draw: () => Option;
}

const slots = new Map<Element, Slot>();

/** Draws into an element, again whenever colours change; the text stands in for the picture. */
export function draw(element: HTMLElement, text: string, option: () => Option): Chart {
  let slot = slots.get(element);
  if (!slot) {
    const chart = echarts.init(element, null, { renderer: 'canvas' });
    slot = { chart, draw: option };
    slots.set(element, slot);
    watch().observe(element);
  }
  slot.draw = option;
  element.setAttribute('role', 'img');
  element.setAttribute('aria-label', text);
  slot.chart.setOption(base(option()), { notMerge: true });
  return slot.chart;
}

export function forget(element: HTMLElement): void {
  const chart = slots.get(element)?.chart;
  if (chart) {
    // A large picture is painted over several frames; those still to come would paint on what is
    // gone. Painting nothing, at once, takes their turn.
    chart.clear();
    chart.getZr().refreshImmediately();
    chart.dispose();
  }
  slots.delete(element);
  resizes?.unobserve(element);
}

function base(option: Option): Option {
  const { ink: text } = ink();
  return {
    animation: false,
    textStyle: { color: text, fontFamily: 'system-ui, sans-serif' },
    color: palette(),
    ...option,
  };
}

/** A tooltip that is drawn, not built from markup: text of a run stays text. */
export function tooltip(formatter: (value: unknown) => string, trigger: 'item' | 'axis' = 'item'): Option {
  const { ink: text, panel, line } = ink();
  return {
    trigger,
    renderMode: 'richText',
    confine: true,
    formatter,
    backgroundColor: panel,
    borderColor: line,
    textStyle: { color: text, fontSize: 12 },
  };
}

export function axis(extra: Option): Option {
  const { faint, line } = ink();
  return {
    axisLine: { lineStyle: { color: line } },
    axisTick: { lineStyle: { color: line } },
    axisLabel: { color: faint, fontSize: 11, ...(extra['axisLabel'] as object | undefined) },
    splitLine: { lineStyle: { color: line, opacity: 0.6 } },
    nameTextStyle: { color: faint, fontSize: 11 },
    ...without(extra, 'axisLabel'),
  };
}

function without(option: Option, name: string): Option {
  const { [name]: _, ...rest } = option;
  return rest;
}

let resizes: ResizeObserver | undefined;

/** Events after which charts are drawn again; from the first chart on. */
function watch(): ResizeObserver {
  if (resizes) return resizes;
  resizes = new ResizeObserver((entries) => {
    for (const entry of entries) {
      if (entry.contentRect.width > 0) slots.get(entry.target)?.chart.resize();
    }
  });
  const again = (): void => {
    for (const { chart, draw: option } of slots.values()) {
      chart.resize();
      chart.setOption(base(option()), { notMerge: true });
      // Paper does not wait for the next frame.
      chart.getZr().refreshImmediately();
    }
  };
  // Paper is light, even if the screen is dark.
  for (const media of ['(prefers-color-scheme: dark)', 'print']) matchMedia(media).addEventListener('change', again);
  return resizes;
}
