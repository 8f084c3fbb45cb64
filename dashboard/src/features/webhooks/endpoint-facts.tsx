import type { WebhookEndpoint } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { KeyRound, Pencil, Power, RotateCcw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { invalidateWebhooks } from '../../data/projects.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Confirm, Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { MenuItem, MenuSeparator, MoreActions } from '../../ui/dialog/menu.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input, Select } from '../../ui/form/input.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { CopyField } from '../../ui/text/copy-field.tsx'
import { Time } from '../../ui/text/time.tsx'
import { EndpointForm } from './endpoint-form.tsx'
import { disabledReasonOf, EndpointStatus, Health } from './health.tsx'
import { describeSelectors } from './selectors.ts'
import { TestEndpoint } from './test-endpoint.tsx'

/** Above the deliveries: state, health and the secret. */
export function EndpointFacts({ endpoint }: { endpoint: WebhookEndpoint }) {
  const reason = disabledReasonOf(endpoint)
  return (
    <div className="space-y-3 border-line border-b bg-surface px-4 py-3 sm:px-6 lg:px-8">
      {reason && <Banner tone="danger">{reason} Enable it once it works again, then replay what failed.</Banner>}
      <div className="flex flex-wrap items-end justify-between gap-x-8 gap-y-3">
        <Health endpoint={endpoint} />
        <div className="w-full max-w-md">
          <p className="mb-1 text-muted text-xs">Secret that signs the requests</p>
          <CopyField label="Secret" value={endpoint.secret} secret />
        </div>
      </div>
      <p className="flex flex-wrap items-center gap-x-3 text-muted text-ui">
        <EndpointStatus endpoint={endpoint} />
        <span className="wrap-anywhere">{endpoint.url}</span>
        <span>{describeSelectors(endpoint.events)}</span>
        {endpoint.failingSince && (
          <span>
            Failing since <Time value={endpoint.failingSince} />
          </span>
        )}
        {endpoint.previousSecretUntil && (
          <span>
            The former secret also signs until <Time value={endpoint.previousSecretUntil} />
          </span>
        )}
      </p>
    </div>
  )
}

type Open = 'edit' | 'rotate' | 'replay' | 'delete'

export function EndpointActions({ endpoint }: { endpoint: WebhookEndpoint }) {
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const toggle = useToggle(endpoint)
  return (
    <>
      <TestEndpoint endpoint={endpoint} />
      <MoreActions>
        <MenuItem onSelect={() => setOpen('edit')}>
          <Pencil aria-hidden="true" />
          Edit…
        </MenuItem>
        <MenuItem onSelect={() => toggle.mutate()}>
          <Power aria-hidden="true" />
          {endpoint.enabled ? 'Disable' : 'Enable'}
        </MenuItem>
        <MenuItem disabled={!endpoint.enabled} onSelect={() => setOpen('replay')}>
          <RotateCcw aria-hidden="true" />
          Replay a period…
        </MenuItem>
        <MenuItem onSelect={() => setOpen('rotate')}>
          <KeyRound aria-hidden="true" />
          Replace the secret…
        </MenuItem>
        <MenuSeparator />
        <MenuItem onSelect={() => setOpen('delete')}>
          <Trash2 aria-hidden="true" />
          Delete…
        </MenuItem>
      </MoreActions>
      <Dialog title="Edit the endpoint" description={endpoint.url} open={open === 'edit'} onOpenChange={(next) => !next && close()}>
        <EndpointForm
          endpoint={endpoint}
          onCancel={close}
          onSaved={() => {
            toast('Saved')
            close()
          }}
        />
      </Dialog>
      <Rotate endpoint={endpoint} open={open === 'rotate'} onClose={close} />
      <ReplayPeriod endpoint={endpoint} open={open === 'replay'} onClose={close} />
      <Delete endpoint={endpoint} open={open === 'delete'} onClose={close} />
    </>
  )
}

type DialogOf = { endpoint: WebhookEndpoint; open: boolean; onClose: () => void }

function useToggle(endpoint: WebhookEndpoint) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () => api.webhookEndpoints.update(endpoint.id, { enabled: !endpoint.enabled }),
    onSuccess: async ({ enabled }) => {
      await invalidateWebhooks(queries, project.id)
      toast(enabled ? 'The endpoint is enabled' : 'The endpoint is disabled; what waits goes on when it is enabled')
    },
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
}

const GRACE = { '24': '24 hours', '0': 'Not at all', '1': '1 hour', '168': '7 days' }

function Rotate({ endpoint, open, onClose }: DialogOf) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const rotate = useMutation({
    mutationFn: (graceHours: number) => api.webhookEndpoints.rotateSecret(endpoint.id, { graceHours }),
    onSuccess: async () => {
      await invalidateWebhooks(queries, project.id)
      toast('Secret replaced')
      onClose()
    },
  })
  return (
    <Dialog
      title="Replace the secret?"
      description="Give your server the new secret while both sign."
      open={open}
      onOpenChange={(next) => !next && onClose()}
    >
      <Form error={rotate.error} onSubmit={(value) => rotate.mutate(Number(value('graceHours')))}>
        <Field name="graceHours" label="The current secret also signs for">
          <Select options={GRACE} defaultValue="24" />
        </Field>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={rotate.isPending}>
            Replace secret
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  )
}

const WHICH = { failed: 'Those that failed', delivered: 'Those that succeeded', '': 'Both' }

function ReplayPeriod({ endpoint, open, onClose }: DialogOf) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const replay = useMutation({
    mutationFn: ({ from, status }: { from: string; status: string }) =>
      api.webhookEndpoints.replay(endpoint.id, {
        from: new Date(from).toISOString(),
        ...(status === 'failed' || status === 'delivered' ? { status } : {}),
      }),
    onSuccess: async () => {
      await invalidateWebhooks(queries, project.id)
      toast('The deliveries are made again')
      onClose()
    },
  })
  return (
    <Dialog
      title="Replay a period"
      description="Makes deliveries again, each with the same id, so that your server can ignore those it has handled."
      open={open}
      onOpenChange={(next) => !next && onClose()}
    >
      <Form error={replay.error} onSubmit={(value) => replay.mutate({ from: value('from'), status: value('status') })}>
        <Field name="from" label="Since">
          <Input type="datetime-local" required />
        </Field>
        <Field name="status" label="Deliveries">
          <Select options={WHICH} defaultValue="failed" />
        </Field>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={replay.isPending}>
            Replay
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  )
}

function Delete({ endpoint, open, onClose }: DialogOf) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  return (
    <Confirm
      title="Delete this endpoint?"
      description={`${endpoint.url} is told nothing more, and its deliveries are deleted.`}
      action="Delete endpoint"
      open={open}
      onOpenChange={(next) => !next && onClose()}
      onConfirm={async () => {
        await api.webhookEndpoints.delete(endpoint.id)
        await navigate({ to: '/app/p/$projectId/webhooks', params: { projectId: project.id } })
        await invalidateWebhooks(queries, project.id)
        toast('The endpoint was deleted')
      }}
    />
  )
}
