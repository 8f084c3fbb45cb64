/**
 * Variables of an email to an address that a workflow names: those of the execution's contact, in `vars` as a whole. Nothing of the recipient's
 * contact is shown to the reader but its preference links.
 */
export type OwnVariables = { as: { id: string; email: string; subscribed: boolean; createdAt: string }; data: Record<string, unknown> }

type Person = { id: string; email: string; subscribed: boolean; createdAt: string; data: Record<string, unknown> }

/** The person whose data fills the template. `contact` is the recipient's. */
export function variablesFor(contact: Person, { onlyVars, vars }: { onlyVars: boolean; vars: Record<string, unknown> | null }): Person {
  if (!onlyVars) return { ...contact, data: { ...contact.data, ...vars } }
  const { as, data } = (vars ?? { as: {}, data: {} }) as OwnVariables
  return { ...contact, ...as, data }
}
