import { setSubscription } from '../contacts/changes/change.ts'
import type { Source } from '../contacts/record/subscription.ts'
import { type Db, maybeOne, type Tx } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import type { LinkOwner } from './link.ts'
import { type Language, languageFor } from './texts.ts'

/** The owner of a link, as shown on its page. */
export type Subscriber = { email: string; subscribed: boolean; sender: string; language: Language }

type Row = { email: string | null; subscribed: boolean; locale: unknown; sender: string; language: string }

/** Without `subscriber` when the contact was deleted; undefined when the project was. A disabled project still allows unsubscribing. */
export async function findSubscriber(
  db: Db,
  { projectId, contactId }: LinkOwner,
): Promise<{ language: Language; subscriber: Subscriber | undefined } | undefined> {
  const row = await maybeOne<Row>(db)`
    select c.email, c.subscribed, c.data -> 'locale' as locale, p.name as sender, p.language
    from projects p left join contacts c on c.project_id = p.id and c.id = ${contactId}
    where p.id = ${projectId} and p.deleted_at is null
  `
  if (!row) return undefined
  const { email, subscribed, locale, sender } = row
  const language = languageFor(locale, row.language)
  return { language, subscriber: email === null ? undefined : { email, subscribed, sender, language } }
}

/** An unsubscription by a link of an email is counted for that email, which belongs to a higher layer: by a job. */
export async function changeSubscription(tx: Tx, { projectId, contactId, emailId }: LinkOwner, subscribed: boolean, source: Source) {
  const { changed } = await setSubscription(tx, { projectId, ids: [contactId], subscribed, source })
  if (emailId && changed.length && !subscribed) await enqueue(tx, 'delivery.count-unsubscription', { projectId, contactId, emailId })
}
