import type Stripe from 'stripe'
import { maybeScalar, one, type Pool, transact } from '../db/index.ts'
import { newId } from '../lib/id.ts'
import { saveCustomer } from '../projects/billing-state.ts'

type Billed = { id: string; name: string; customer: string | null; subscription: string | null }

export const readBilled = (db: Pool, projectId: string) =>
  one<Billed>(db)`select id, name, customer, subscription from projects where id = ${projectId}`

/**
 * The customer of a project at Stripe; created before the first payment, so that every notification names a customer we know. Two requests
 * at the same moment get the same one: the key makes the second a repetition of the first.
 */
export async function findOrCreateCustomer(db: Pool, stripe: Stripe, project: Billed): Promise<string> {
  if (project.customer) return project.customer
  const email = await maybeScalar<string>(db)`
    select u.email from memberships m join users u on u.id = m.user_id where m.project_id = ${project.id} and m.role = 'OWNER'
    order by u.id limit 1
  `
  const created = await stripe.customers.create(
    { name: project.name, ...(email ? { email } : {}), metadata: { projectId: project.id } },
    { idempotencyKey: `sterna-customer-${project.id}` },
  )
  return transact(db, (tx) => saveCustomer(tx, project.id, created.id))
}

/** Makes a request of a person safe to repeat by the network, not by the person. */
export const requestKey = () => `sterna-${newId()}`
