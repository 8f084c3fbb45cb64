import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api } from '../client/api.ts'
import { invalidateMe, meQuery } from '../data/account.ts'
import { configQuery } from '../data/installation.ts'
import { toast } from '../ui/dialog/toast.tsx'
import { explain } from '../ui/notice/explain.ts'

/** The action that confirms the address of the user; undefined if it is confirmed. In the sandbox no link arrives, so its operator confirms at once. */
export function useConfirmAddress() {
  const queries = useQueryClient()
  const me = useQuery(meQuery).data
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  const isAtOnce = isSandbox && (me?.operator ?? false)
  const confirm = useMutation({
    mutationFn: () => (isAtOnce ? api.auth.confirmAddress() : api.auth.requestVerification()),
    onSuccess: async () => {
      toast(isAtOnce ? 'Your address is confirmed' : `A new link is on its way to ${me?.email}`)
      if (isAtOnce) await invalidateMe(queries)
    },
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  if (!me || me.emailVerified) return undefined
  return { email: me.email, isSandbox, isAtOnce, label: isAtOnce ? 'Confirm now' : 'Resend the link', run: () => confirm.mutate() }
}
