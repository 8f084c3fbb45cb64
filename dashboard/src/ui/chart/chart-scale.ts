/** About four ticks. */
const TICKS = 4

/** Round numbers from 0 to at least `max`; with `whole` no fractions: there is no half email. */
export function niceTicks(max: number, whole = false): number[] {
  if (!(max > 0)) return [0, 1]
  const rough = Math.max(max / TICKS, whole ? 1 : 0)
  const power = 10 ** Math.floor(Math.log10(rough))
  // The first of 1, 2, 2.5, 5 and 10 that is not below: rounding errors must not add a step.
  const steps = [1, 2, 2.5, 5, 10].map((factor) => factor * power)
  const step = steps.find((each) => each >= rough * (1 - 1e-9) && (!whole || Number.isInteger(each)))!
  const count = Math.ceil(max / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}

export type Point = [x: number, y: number]

/** The path of a line through points. */
export const linePath = (points: Point[]): string => points.map(([x, y], index) => `${index ? 'L' : 'M'}${round(x)} ${round(y)}`).join('')

/** The path of the area between a line and the bottom. */
export const areaPath = (points: Point[], bottom: number): string => {
  const [first, last] = [points[0], points.at(-1)]
  return first && last ? `${linePath(points)}L${round(last[0])} ${round(bottom)}L${round(first[0])} ${round(bottom)}Z` : ''
}

const round = (value: number) => Math.round(value * 10) / 10

/** The change against the period before, as a share of it. Undefined if there was nothing before. */
export const changeOf = (now: number, before: number): number | undefined => (before > 0 ? now / before - 1 : undefined)

/** Which of the labels below a chart are shown: the last and, at equal distances before it, as many as fit. */
export function shownLabels(count: number, fits: number): number[] {
  const step = Math.max(1, Math.ceil((count - 1) / Math.max(1, fits - 1)))
  const shown = Array.from({ length: Math.ceil(count / step) }, (_, index) => count - 1 - index * step)
  return shown.reverse()
}
