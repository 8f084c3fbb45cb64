import type { Contact, Sterna } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { invalidateContacts } from '../../../data/contacts.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { toast } from '../../../ui/dialog/toast.tsx'
import { explain } from '../../../ui/notice/explain.ts'

type Changes = Parameters<Sterna['contacts']['update']>[1]

/** Refetches everything that shows contacts. */
export function useInvalidateContacts() {
  const project = useProject()
  const queries = useQueryClient()
  return () => invalidateContacts(queries, project.id)
}

export function useChangeContact(id: string) {
  const api = useApi()
  const invalidate = useInvalidateContacts()
  return useMutation({
    mutationFn: (changes: Changes) => api.contacts.update(id, changes),
    onSuccess: invalidate,
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
}

/** By the promise, not by a callback of `mutate`: the menu or row that started it is often gone by then, and its callbacks with it. */
export async function changeWithUndo(
  { mutateAsync, mutate }: ReturnType<typeof useChangeContact>,
  { changes, undo }: { changes: Changes; undo: Changes },
  text: string,
) {
  const isChanged = await mutateAsync(changes).then(
    () => true,
    () => false, // already shown
  )
  if (isChanged) toast(text, { action: { label: 'Undo', run: () => mutate(undo) } })
}

/** Can be taken back, so it asks nothing and offers Undo. */
export function useToggleSubscription(contact: Pick<Contact, 'id' | 'email' | 'subscribed'>) {
  const change = useChangeContact(contact.id)
  return () =>
    changeWithUndo(
      change,
      { changes: { subscribed: !contact.subscribed }, undo: { subscribed: contact.subscribed } },
      `${contact.email} is ${contact.subscribed ? 'unsubscribed' : 'subscribed'}`,
    )
}
