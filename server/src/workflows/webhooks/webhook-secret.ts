import { sql } from 'kysely'
import { type Db, maybeOne, one, type Pool, type Tx, transact } from '../../db/index.ts'
import type { SealedColumn } from '../../db/sealed-columns.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { newSigningSecret, openSecrets, type SigningSecrets } from '../../webhooks/sign.ts'

/** After a rotation, requests are signed with both secrets for this long. */
const OVERLAP_HOURS = 24

type Row = { secret: Buffer; previous: Buffer | null; previousUntil: Date | null }

const COLUMNS = sql`secret, case when previous_until > now() then previous end as previous,
  case when previous_until > now() then previous_until end as "previousUntil"`

const readRow = (db: Db, projectId: string) => maybeOne<Row>(db)`select ${COLUMNS} from webhook_secrets where project_id = ${projectId}`

export type WebhookSecret = SigningSecrets & { previousUntil: Date | null }

const open = (secrets: Secrets, row: Row): WebhookSecret => ({ ...openSecrets(secrets, row), previousUntil: row.previousUntil })

export const SEALED_WEBHOOK_SECRETS: SealedColumn[] = [
  { table: 'webhook_secrets', key: ['project_id'], purpose: 'webhook-secret', column: 'secret' },
  { table: 'webhook_secrets', key: ['project_id'], purpose: 'webhook-secret', column: 'previous' },
]

/** The secret that signs the webhooks of a project. Made when it is first needed. */
export async function getWebhookSecret(db: Pool, secrets: Secrets, projectId: string): Promise<WebhookSecret> {
  const known = await readRow(db, projectId)
  return open(secrets, known ?? (await transact(db, (tx) => createSecret(tx, secrets, projectId))))
}

/** Two nodes may create it at once: the first one wins. */
async function createSecret(tx: Tx, secrets: Secrets, projectId: string): Promise<Row> {
  await sql`
    insert into webhook_secrets (project_id, secret) values (${projectId}, ${secrets.seal('webhook-secret', newSigningSecret())})
    on conflict (project_id) do nothing
  `.execute(tx)
  return one<Row>(tx)`select ${COLUMNS} from webhook_secrets where project_id = ${projectId}`
}

/** The secret before this one stays valid for a day. */
export async function rotateWebhookSecret(tx: Tx, secrets: Secrets, projectId: string): Promise<WebhookSecret> {
  const sealed = secrets.seal('webhook-secret', newSigningSecret())
  const row = await one<Row>(tx)`
    insert into webhook_secrets as w (project_id, secret) values (${projectId}, ${sealed})
    on conflict (project_id) do update set previous = w.secret, previous_until = now() + make_interval(hours => ${OVERLAP_HOURS}),
      secret = excluded.secret
    returning ${COLUMNS}
  `
  return open(secrets, row)
}
