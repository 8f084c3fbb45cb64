/**
 * Variables of an email to an address that a workflow names: those of the execution's contact, in `vars` as a whole. Nothing of the recipient's
 * contact is shown to the reader but its preference links.
 */
export type OwnVariables = { as: { id: string; email: string; subscribed: boolean; createdAt: string }; data: Record<string, unknown> }

/** A contact as templates see it. */
export type ContactVariables = { id: string; email: string; subscribed: boolean; createdAt: string; data: Record<string, unknown> }

/** The person whose data fills the template. `contact` is the recipient's. */
export function variablesFor(
  contact: ContactVariables,
  { onlyVars, vars }: { onlyVars: boolean; vars: Record<string, unknown> | null },
): ContactVariables {
  // Most emails have no variables of their own: the data of the contact, which may be large, is then not copied.
  if (!onlyVars) return hasKeys(vars) ? { ...contact, data: { ...contact.data, ...vars } } : contact
  const { as, data } = (vars ?? { as: {}, data: {} }) as OwnVariables
  return { ...contact, ...as, data }
}

function hasKeys(vars: Record<string, unknown> | null) {
  for (const _ in vars) return true
  return false
}
