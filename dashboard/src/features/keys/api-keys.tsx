import type { ApiKey } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../client/api.ts'
import { apiKeysQuery, invalidateKeys } from '../../data/projects.ts'
import { useProject } from '../../projects/current.ts'
import { CreateDialog } from '../../ui/dialog/create-dialog.tsx'
import { ConfirmDialog, Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Choices } from '../../ui/form/choices.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { Card } from '../../ui/page/card.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { Table } from '../../ui/table/table.tsx'
import { CopyField } from '../../ui/text/copy-field.tsx'
import { Time } from '../../ui/text/time.tsx'
import { describeLimits, KEY_RECIPES, readWords } from './recipes.ts'

/** A key that was just made: the only time that it can be copied. */
type FreshKey = { name: string; key: string }

/** Keys besides the pair of the project. */
export function ApiKeys() {
  const project = useProject()
  const keys = useQuery(apiKeysQuery(project.id))
  const [fresh, setFresh] = useState<FreshKey>()
  const others = keys.data?.filter(({ isPair }) => !isPair)
  return (
    <Card
      title="More keys"
      description="One for each app: limited to what it does, and replaced without stopping the others."
      actions={
        <CreateDialog
          label="Create a key"
          title="Create a key"
          description="Choose what it is for. You can limit it further, here or later by the API."
        >
          {(close) => (
            <CreateForm
              onDone={(created) => {
                close()
                if (created) setFresh(created)
              }}
            />
          )}
        </CreateDialog>
      }
    >
      {keys.isLoadingError && <ErrorState title="Could not load the keys" error={keys.error} retry={keys.refetch} />}
      {keys.isPending && <Skeleton className="h-10" />}
      {others?.length === 0 && <p className="text-muted text-ui">None yet.</p>}
      {others && others.length > 0 && (
        <Table
          caption="Keys"
          rows={others}
          rowKey={({ id }) => id}
          columns={[
            { heading: 'Key', cell: (row) => <Identity apiKey={row} /> },
            { heading: 'May', cell: (row) => <span className="break-words text-ui">{describeLimits(row)}</span> },
            { cell: (row) => <KeyActions apiKey={row} onRotated={setFresh} /> },
          ]}
        />
      )}
      <Dialog
        title={`Copy the key "${fresh?.name ?? ''}" now`}
        description="It is shown only once."
        open={fresh !== undefined}
        onOpenChange={() => setFresh(undefined)}
      >
        {fresh && <CopyField label="New key" value={fresh.key} />}
      </Dialog>
    </Card>
  )
}

function Identity({ apiKey: { name, prefix, lastUsedAt, expiresAt, graceUntil } }: { apiKey: ApiKey }) {
  return (
    <>
      <p className="truncate font-medium" title={name}>
        {name} <span className="font-mono text-code text-muted">{prefix}…</span>
      </p>
      <p className="text-muted text-xs">
        {lastUsedAt ? (
          <>
            Last used <Time value={lastUsedAt} />
          </>
        ) : (
          'Not used yet'
        )}
        {expiresAt && (
          <>
            , expires <Time value={expiresAt} />
          </>
        )}
        {graceUntil && (
          <>
            , the key before works until <Time value={graceUntil} />
          </>
        )}
      </p>
    </>
  )
}

const GRACE_HOURS = 24

function KeyActions({ apiKey: { id, name }, onRotated }: { apiKey: ApiKey; onRotated: (fresh: FreshKey) => void }) {
  const project = useProject()
  const queries = useQueryClient()

  async function rotate() {
    const { key } = await api.projects.rotateKey(project.id, id, { graceHours: GRACE_HOURS })
    await invalidateKeys(queries, project.id)
    onRotated({ name, key })
  }
  async function revoke() {
    await api.projects.deleteKey(project.id, id)
    await invalidateKeys(queries, project.id)
    toast('Key revoked')
  }

  return (
    <span className="flex flex-wrap justify-end gap-2">
      <ConfirmDialog
        title={`Rotate "${name}"?`}
        description={`You get a new key. The current one works for ${GRACE_HOURS} hours more, so that nothing stops meanwhile.`}
        action="Rotate"
        onConfirm={rotate}
      >
        {(open) => (
          <Button size="sm" onClick={open} aria-label={`Rotate ${name}`}>
            Rotate…
          </Button>
        )}
      </ConfirmDialog>
      <ConfirmDialog
        title={`Revoke "${name}"?`}
        description="Every app and server that uses it is refused from now on."
        action="Revoke"
        onConfirm={revoke}
      >
        {(open) => (
          <Button size="sm" onClick={open} aria-label={`Revoke ${name}`}>
            Revoke…
          </Button>
        )}
      </ConfirmDialog>
    </span>
  )
}

function CreateForm({ onDone }: { onDone: (created?: FreshKey) => void }) {
  const project = useProject()
  const queries = useQueryClient()
  const create = useMutation({
    mutationFn: (body: Parameters<typeof api.projects.createKey>[1]) => api.projects.createKey(project.id, body),
    onSuccess: async ({ name, key }) => {
      await invalidateKeys(queries, project.id)
      onDone({ name, key })
    },
  })

  function submit(value: (name: string) => string) {
    const { kind, scopes } = KEY_RECIPES.find((recipe) => recipe.value === value('recipe')) ?? KEY_RECIPES[0]
    const [senderDomains, networks] = [readWords(value('senderDomains')), readWords(value('networks'))]
    create.mutate({
      name: value('name'),
      kind,
      ...(scopes && { scopes: [...scopes] }),
      ...(senderDomains && kind === 'secret' && { senderDomains }),
      ...(networks && { networks }),
    })
  }

  return (
    <Form error={create.error} onSubmit={submit}>
      <Field name="name" label="Name">
        <Input autoComplete="off" placeholder="Web shop" required />
      </Field>
      <Choices legend="What it is for" name="recipe" choices={[...KEY_RECIPES]} chosen="send" />
      <Field name="senderDomains" label="Sender domains" hint="Separated by commas. Empty: every verified domain.">
        <Input autoComplete="off" />
      </Field>
      <Field name="networks" label="Networks" hint="IP addresses or CIDRs, separated by commas. Empty: from anywhere.">
        <Input autoComplete="off" />
      </Field>
      <DialogButtons>
        <Button onClick={() => onDone()}>Cancel</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          Create key
        </Button>
      </DialogButtons>
    </Form>
  )
}
