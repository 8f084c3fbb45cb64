import { useMutation, useQuery } from '@tanstack/react-query'
import { api } from '../api.ts'
import { meQuery } from '../data/account.ts'
import { toast } from '../ui/dialog/toast.tsx'
import { Banner } from '../ui/page/banner.tsx'
import { explain } from '../ui/text/explain.ts'
import { SandboxHint } from './sandbox-hint.tsx'

export function VerifyBanner() {
  const me = useQuery(meQuery)
  const resend = useMutation({
    mutationFn: api.auth.requestVerification,
    onSuccess: () => toast('New link sent'),
    onError: (error) => toast(explain(error)),
  })
  if (!me.data || me.data.emailVerified) return null
  return (
    <Banner
      tone="warning"
      action={
        <button
          type="button"
          className="min-h-8 font-medium underline underline-offset-4"
          disabled={resend.isPending}
          onClick={() => resend.mutate()}
        >
          Resend link
        </button>
      }
    >
      Confirm your email address: we sent a link to <strong className="font-semibold">{me.data.email}</strong>.
      <SandboxHint />
    </Banner>
  )
}
