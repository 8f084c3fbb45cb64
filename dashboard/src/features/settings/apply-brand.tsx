import type { Job } from '@sterna/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api } from '../../client/api.ts'
import { jobQuery } from '../../data/jobs.ts'
import { trackJob } from '../../jobs/own-jobs.ts'
import { useProject } from '../../projects/current.ts'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { countOf } from '../../ui/text/count.tsx'

type Named = { id: string; name: string }
/** The result of the job, see the API reference. */
type Comparison = { templates: number; campaigns: number; changedTemplates: Named[]; changedCampaigns: Named[] }

/** Emails that are saved keep their look until they are rendered again, which is done only when asked for. */
export function ApplyBrand({ isDirty }: { isDirty: boolean }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button
        size="sm"
        disabled={isDirty}
        title={isDirty ? 'Save the brand first' : 'Render saved templates and drafts again'}
        onClick={() => setOpen(true)}
      >
        Apply to saved emails…
      </Button>
      <Dialog
        title="Apply the brand to saved emails"
        description="Templates get a new version, which is sent from then on. Drafts change. Campaigns that are scheduled or were sent stay as they are."
        open={open}
        onOpenChange={setOpen}
      >
        {open && <ApplyForm onDone={() => setOpen(false)} />}
      </Dialog>
    </>
  )
}

function ApplyForm({ onDone }: { onDone: () => void }) {
  const project = useProject()
  const { comparison, error } = useComparison()
  const apply = useMutation({
    mutationFn: () => api.projects.applyBrand(project.id),
    onSuccess: ({ jobId }) => {
      trackJob(project.id, { id: jobId, label: 'Apply the brand' })
      toast('The brand is being applied')
      onDone()
    },
  })
  const count = comparison ? comparison.templates + comparison.campaigns : 0
  const problem = error ?? apply.error
  return (
    <div className="space-y-4">
      {problem && <Banner tone="danger">{explain(problem)}</Banner>}
      {comparison ? <Changes comparison={comparison} /> : !problem && <p className="text-muted text-ui">Checking what would change…</p>}
      <DialogButtons>
        <Button onClick={onDone}>{count > 0 ? 'Cancel' : 'Close'}</Button>
        {count > 0 && (
          <Button variant="primary" busy={apply.isPending} onClick={() => apply.mutate()}>
            Apply to {countOf(count, { one: 'email', many: 'emails' })}
          </Button>
        )}
      </DialogButtons>
    </div>
  )
}

/** The changes that applying the brand would make, found by a job that changes nothing. */
function useComparison(): { comparison: Comparison | undefined; error: Error | null } {
  const project = useProject()
  const compare = useMutation({ mutationFn: () => api.projects.applyBrand(project.id, { dryRun: true }) })
  const { mutate } = compare
  useEffect(() => mutate(), [mutate])
  const jobId = compare.data?.jobId
  const job = useQuery({ ...jobQuery(project.id, jobId ?? ''), enabled: jobId !== undefined })
  return { comparison: resultOf(job.data), error: compare.error ?? job.error }
}

const resultOf = (job: Job | undefined) => (job?.state === 'completed' ? (job.result as Comparison) : undefined)

function Changes({ comparison: { templates, campaigns, changedTemplates, changedCampaigns } }: { comparison: Comparison }) {
  if (templates + campaigns === 0) return <p className="text-ui">All saved emails have this look already.</p>
  return (
    <div className="max-h-60 space-y-3 overflow-y-auto text-ui">
      <Names title={countOf(templates, { one: 'template', many: 'templates' })} count={templates} names={changedTemplates} />
      <Names title={countOf(campaigns, { one: 'draft', many: 'drafts' })} count={campaigns} names={changedCampaigns} />
    </div>
  )
}

function Names({ title, count, names }: { title: string; count: number; names: Named[] }) {
  if (count === 0) return null
  return (
    <div>
      <p className="font-medium">{title}</p>
      <ul className="list-inside list-disc text-muted">
        {names.map(({ id, name }) => (
          <li key={id} className="truncate">
            {name}
          </li>
        ))}
        {count > names.length && <li>and {countOf(count - names.length, { one: 'other', many: 'others' })}</li>}
      </ul>
    </div>
  )
}
