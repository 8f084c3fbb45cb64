import type { Result } from '@sterna/sdk'

export type Hour = Result<'GET /campaigns/{id}/hours'>['data'][number]

/** Hours that have begun: those to come are not drawn. */
export const begunHours = (hours: Hour[], now: number): Hour[] => hours.filter(({ from }) => Date.parse(from) <= now)

/** Four ticks at most, of 1, 2 or 5 times a power of ten, from zero to above the maximum. */
export function ticksOf(max: number): number[] {
  if (max <= 0) return [0, 1]
  const rough = max / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough)!)
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, index) => index * step)
}
