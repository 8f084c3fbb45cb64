import pg from 'pg'
import { attachEmbedded } from '../server/src/db/embedded/embedded.ts'

/** Contacts of the measured project at full scale. */
const CONTACTS = 1_000_000
const PAGE = 100_000

/** `BENCH_SCALE=0.01` is enough to try a change; the published table has scale 1. */
export const scaled = (count: number, scale: number) => Math.max(1_000, Math.round(count * scale))

/** Ids that increase with time, like ours, so that rows of one time are stored together. */
export const idAt = (milliseconds: string, hash = 'hash') =>
  `(lpad(to_hex((${milliseconds})::bigint), 12, '0') || '7' || substr(${hash}, 1, 3) || '8' || substr(${hash}, 4, 15))::uuid`

export async function connectToBench(dataDir: string) {
  const running = await attachEmbedded(dataDir)
  if (!running) throw new Error('the server to measure is not running')
  const client = new pg.Client(running.url)
  client.on('error', () => {}) // the failing query reports it
  await client.connect()
  return client
}

/** Inserts by set-based SQL. Addresses and data vary like real ones. */
export async function seedContacts(client: pg.Client, projectId: string, scale: number) {
  const total = scaled(CONTACTS, scale)
  for (let from = 1; from <= total; from += PAGE) {
    await client.query(
      `insert into contacts (project_id, id, email, subscribed, data)
       select $1, ${idAt('1700000000000 + n')},
         (array['anna','bob','carla','dmitri','eve','farid','greta','hugo','ines','jun'])[1 + n % 10] || '.' || substr(hash, 1, 6) || n || '@'
           || (array['gmail.com','yahoo.com','example.org','firma.de','mail.co.uk'])[1 + n % 5],
         n % 10 <> 0,
         jsonb_build_object('plan', (array['free','pro','team'])[1 + n % 3], 'seats', n % 50, 'signedUp', '2024-01-01', 'city', 'City ' || n % 1000)
       from generate_series($2::int, $3::int) n, md5(n::text) hash`,
      [projectId, from, Math.min(total, from + PAGE - 1)],
    )
  }
  await client.query(
    'with old as (delete from contact_count_deltas where project_id = $1) insert into contact_counts (project_id, total, subscribed) select $1, count(*), count(*) filter (where subscribed) from contacts where project_id = $1 on conflict (project_id) do update set total = excluded.total, subscribed = excluded.subscribed',
    [projectId],
  )
  await client.query(
    `insert into contact_fields (project_id, key, type) select $1, key, 'string' from unnest(array['plan','seats','signedUp','city']) key on conflict do nothing`,
    [projectId],
  )
  await client.query('vacuum analyze contacts')
  return total
}
