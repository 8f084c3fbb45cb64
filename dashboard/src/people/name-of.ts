import { useProject } from '../projects/current.ts'
import { ownValue } from '../ui/form/own-value.ts'

type Named = { data?: Record<string, unknown> | null }

/** The name of a contact by the `nameFields` of its project: the first alternative of which the contact has something. */
export function nameOf({ data }: Named, nameFields: string[]): string | undefined {
  for (const alternative of nameFields) {
    const parts = alternative.split(' + ').map((field) => ownValue(data, field))
    const name = parts.filter((part) => typeof part === 'string' && part.trim() !== '').join(' ')
    if (name) return name
  }
  return undefined
}

/** Names contacts of this project. */
export function useNameOf(): (contact: Named) => string | undefined {
  const { nameFields } = useProject()
  return (contact) => nameOf(contact, nameFields)
}
