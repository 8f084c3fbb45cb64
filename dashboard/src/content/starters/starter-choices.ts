import type { Result } from '@sterna/sdk'
import { blankDesign, ordered } from '../../design/document/design-json.ts'
import type { StartChoice, StartGroup } from './start-picker.tsx'

export type Starter = Result<'GET /designs/starters'>[number]

export const BLANK = 'blank'

/** The choice without a starter. */
export const blankChoice = (label: string): StartChoice => ({ key: BLANK, label, content: { design: blankDesign(), body: '' } })

const HEADINGS = { news: 'News', account: 'Accounts', commerce: 'Orders' }

/** Starters below the headings of their categories. */
export function starterGroups(starters: Starter[]): StartGroup[] {
  return (Object.keys(HEADINGS) as Starter['category'][]).map((category) => ({
    heading: HEADINGS[category],
    choices: starters
      .filter((starter) => starter.category === category)
      .map(({ key, name, design }) => ({ key: `starter ${key}`, label: name, content: { design, body: '' } })),
  }))
}

/** The starter of a choice; undefined for other choices. */
export const starterOf = (starters: Starter[], choice: string) => starters.find(({ key }) => `starter ${key}` === choice)

/** Whether a design is still that of a starter, or blank. */
export function isUntouched(design: unknown, starters: Pick<Starter, 'design'>[]): boolean {
  const json = JSON.stringify(ordered(design))
  return [blankDesign(), ...starters.map((starter) => starter.design)].some((known) => JSON.stringify(ordered(known)) === json)
}
