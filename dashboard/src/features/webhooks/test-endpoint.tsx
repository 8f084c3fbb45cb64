import type { WebhookEndpoint } from '@sterna/sdk'
import { useMutation } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { useApi } from '../../projects/current.ts'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { explain } from '../../ui/notice/explain.ts'

/** Makes one request of the type `test`, and says what the receiver answered. */
export function TestEndpoint({ endpoint }: { endpoint: WebhookEndpoint }) {
  const api = useApi()
  const test = useMutation({
    mutationFn: () => api.webhookEndpoints.test(endpoint.id),
    onSuccess: ({ status, durationMs, error }) =>
      toast(error ?? `It answered with status ${status} in ${durationMs} ms`, error ? { tone: 'danger' } : {}),
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  return (
    <Button size="sm" busy={test.isPending} onClick={() => test.mutate()}>
      {!test.isPending && <Send aria-hidden="true" />}
      Send a test
    </Button>
  )
}
