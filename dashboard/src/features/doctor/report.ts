import type { Doctor } from '@sterna/sdk'

export type DoctorCheck = Doctor['checks'][number]

export const GROUP_WORDS: Record<DoctorCheck['group'], string> = {
  reachability: 'Reachability',
  sending: 'Sending',
  feedback: 'Feedback',
  database: 'Database',
  disk: 'Disk',
  version: 'Version',
  billing: 'Billing',
}

/** Checks by group, in the order of the groups. Empty groups are left out. */
export function groupChecks(checks: DoctorCheck[]): { group: DoctorCheck['group']; checks: DoctorCheck[] }[] {
  return (Object.keys(GROUP_WORDS) as DoctorCheck['group'][])
    .map((group) => ({ group, checks: checks.filter((check) => check.group === group) }))
    .filter((each) => each.checks.length > 0)
}

/** The commands in a note, to copy: `npm run sterna -- …`, or a setting such as `PUBLIC_URL=https://…`. */
export function commandsIn(note: string): string[] {
  return [...note.matchAll(/npm run [^;,)]+/g)].map(([command]) => command.trim())
}

/** The checks as text, to paste into an issue. */
export const reportOf = ({ checks, checkedAt }: Pick<Doctor, 'checks' | 'checkedAt'>): string =>
  [`Sterna, checked ${checkedAt}`, ...checks.map(({ verdict, name, note }) => `${verdict.padEnd(4)} ${name}: ${note}`)].join('\n')
