import type { Domain } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { invalidateDomains } from '../../data/domains.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { Status } from '../../ui/text/status.tsx'

/** The host of the links in emails from a domain: which one, whether it works, and the way to change it. */
export function LinkHost({ domain, mayManage }: { domain: Domain; mayManage: boolean }) {
  const { linkHost, linkHostStatus, linkHostError, verified } = domain
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-t px-4 py-2 text-ui">
      <span className="text-muted">Link host</span>
      {linkHost ? <span className="font-medium">{linkHost}</span> : <span>None: links use the host of this installation</span>}
      {linkHostStatus && <Status kind="domain" status={linkHostStatus} />}
      {linkHostStatus !== 'verified' && linkHostError && <span className="text-muted">{linkHostError}</span>}
      {!verified && <span className="text-muted">{linkHost ? 'Not used until' : 'You can set your own once'} the domain is verified.</span>}
      {mayManage && verified && <ChangeLinkHost domain={domain} />}
      {mayManage && !verified && linkHost && <RemoveLinkHost domain={domain} />}
    </div>
  )
}

function useChange(domain: Domain, onSaved = () => {}) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (linkHost: string | null) => api.domains.update(domain.id, { linkHost }),
    onSuccess: async ({ linkHost }) => {
      await invalidateDomains(queries, project.id)
      toast(linkHost ? 'Publish the CNAME; then links use the host' : 'Links use the host of this installation')
      onSaved()
    },
  })
}

/** Without its proof a domain can have no other host. */
function RemoveLinkHost({ domain }: { domain: Domain }) {
  const change = useChange(domain)
  return (
    <Button
      size="sm"
      variant="quiet"
      busy={change.isPending}
      onClick={() => change.mutate(null, { onError: (error) => toast(explain(error), { tone: 'danger' }) })}
    >
      Remove
    </Button>
  )
}

function ChangeLinkHost({ domain }: { domain: Domain }) {
  const [open, setOpen] = useState(false)
  const change = useChange(domain, () => setOpen(false))
  return (
    <>
      <Button size="sm" variant="quiet" onClick={() => setOpen(true)}>
        {domain.linkHost ? 'Change…' : 'Use your own host…'}
      </Button>
      <Dialog
        title="Link host"
        description={`Links, images and unsubscribe pages of emails from ${domain.domain} use this host, once its CNAME is published. Links that were sent keep working.`}
        open={open}
        onOpenChange={setOpen}
      >
        <Form error={change.error} onSubmit={(value) => change.mutate(value('linkHost').trim() || null)}>
          <Field name="linkHost" label="Host" hint="A name below the domain. Empty for none. At most 10 changes a day.">
            <Input
              defaultValue={domain.linkHost ?? ''}
              placeholder={`links.${domain.domain}`}
              autoComplete="off"
              spellCheck={false}
              autoCapitalize="none"
            />
          </Field>
          <DialogButtons>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" variant="primary" busy={change.isPending}>
              Save
            </Button>
          </DialogButtons>
        </Form>
      </Dialog>
    </>
  )
}
