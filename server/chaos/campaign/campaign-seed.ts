import { sql } from 'kysely'
import { type Pool, transact } from '../../src/db/index.ts'
import { newId } from '../../src/lib/id.ts'
import { behaviour } from '../mail/mail.ts'
import type { Random } from '../support/random.ts'

/**
 * Contacts of a group have its name in their address and in `data.group`. The letter behind it says why a contact is excluded from the start:
 * `ok+main-s12@example.com` is suppressed. So the checks know every audience without asking the product.
 */
export type Group = 'main' | 'halted' | 'scheduled' | 'others'
const STATES: [share: number, letter: string][] = [
  [0.1, 'u'],
  [0.07, 's'],
  [0.03, 'd'],
]
const RECEIVES = 'r'
const SUPPRESSED_DOMAIN = 'suppressed.example'

/** Behaviour of the SMTP server by share of recipients. Fewer refusals than those that pause a campaign. */
const BEHAVIOURS: [number, string][] = [
  [0.6, 'ok'],
  [0.3, 'delayed'],
  [0.02, 'p550'],
  [0.02, 't451once'],
  [0.02, 't451dotonce'],
  [0.02, 'rst-dataonce'],
  [0.01, 'rst-dotonce'],
  [0.01, 'garbageonce'],
]
/** Only evidence ends these before the ten minutes that a reply may take. */
const HANGING: [number, string] = [0.005, 'hang-dot']
const PAGE = 10_000

type Seed = { projectId: string; sizes: Record<Group, number>; evidence: boolean; random: Random }
type Person = { id: string; email: string; subscribed: boolean; group: Group }

/** Returns the addresses of the contacts that may get the main campaign, in random order. */
export async function seedContacts(db: Pool, { projectId, sizes, evidence, random }: Seed): Promise<string[]> {
  const behaviours = evidence ? [HANGING, ...BEHAVIOURS] : BEHAVIOURS
  const people = Object.entries(sizes).flatMap(([group, size]) =>
    Array.from({ length: size }, (_, number) => newPerson(group as Group, number, behaviours, random)),
  )
  // Groups are mixed, so that every page of a freeze has contacts of each.
  const mixed = random.shuffle(people).map((person) => ({ ...person, id: newId() }))
  for (let at = 0; at < mixed.length; at += PAGE) await insertPeople(db, projectId, mixed.slice(at, at + PAGE))
  await transact(db, async (tx) => {
    await sql`
      insert into suppressions (project_id, address, reason)
      select project_id, email, 'manual' from contacts where project_id = ${projectId} and email like '%-s%@%'
      union all select ${projectId}, ${`@${SUPPRESSED_DOMAIN}`}, 'manual'
    `.execute(tx)
    await sql`
      insert into contact_count_deltas (project_id, total, subscribed)
      select project_id, count(*), count(*) filter (where subscribed) from contacts where project_id = ${projectId} group by 1
    `.execute(tx)
    await sql`insert into contact_fields (project_id, key, type) values (${projectId}, 'group', 'string')`.execute(tx)
  })
  await sql`analyze contacts`.execute(db)
  return mixed.filter(({ group, email }) => group === 'main' && email.includes(`-${RECEIVES}`)).map(({ email }) => email)
}

function newPerson(group: Group, number: number, behaviours: typeof BEHAVIOURS, random: Random): Person {
  let chance = random.between(0, 1)
  const [, letter] = STATES.find(([share]) => {
    chance -= share
    return chance < 0
  }) ?? [0, RECEIVES]
  // Other groups get several campaigns: there every message is accepted.
  const how = group === 'main' ? behaviour(random, behaviours) : random.chance(0.5) ? 'ok' : `d${5 + random.below(50)}`
  const domain = letter === 'd' ? SUPPRESSED_DOMAIN : 'example.com'
  return { id: '', email: `${how}+${group}-${letter}${number}@${domain}`, subscribed: letter !== 'u', group }
}

const insertPeople = (db: Pool, projectId: string, people: Person[]) =>
  transact(db, (tx) =>
    sql`
      insert into contacts (project_id, id, email, subscribed, data)
      select ${projectId}, id, email, subscribed, jsonb_build_object('group', "group")
      from jsonb_to_recordset(${JSON.stringify(people)}::jsonb) as p(id uuid, email text, subscribed boolean, "group" text)
    `.execute(tx),
  )

/** The contacts of a group, also those created later. */
export const inGroup = (group: Group) => ({
  logic: 'AND',
  groups: [{ filters: [{ field: 'data.group', operator: 'equals', value: group }] }],
})
