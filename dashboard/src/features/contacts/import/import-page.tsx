import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { fieldsQuery } from '../../../data/contacts.ts'
import { segmentsQuery } from '../../../data/segments.ts'
import { trackJob } from '../../../jobs/own-jobs.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { ListLink } from '../../../projects/record-page.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Select } from '../../../ui/form/input.tsx'
import { namesById } from '../../../ui/form/options.ts'
import { Banner } from '../../../ui/notice/banner.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { Card } from '../../../ui/page/card.tsx'
import { Page } from '../../../ui/page/page.tsx'
import { countOf } from '../../../ui/text/count.tsx'
import { mappingOf, mappingProblem, suggestTargets, type Target } from './column-mapping.ts'
import type { CsvFile } from './csv-file.ts'
import { CheckResult } from './import-check.tsx'
import { ImportColumns } from './import-columns.tsx'
import { ImportFile } from './import-file.tsx'
import { ImportResult } from './import-result.tsx'
import { countRows, type ImportCheck, joinChecks } from './join-checks.ts'

const ROUTE = '/app/p/$projectId/contacts/import'
const ROWS = { one: 'row', many: 'rows' }

/** From a file to contacts: choose it, map its columns, check it, import it. A job that runs is a link of its own. */
export function ImportPage() {
  const { job, segment } = useSearch({ from: ROUTE })
  return (
    <Page title="Import" parent={<ListLink kind="Contact" />}>
      {job ? job.split(',').map((id) => <ImportResult key={id} jobId={id} segmentId={segment} />) : <NewImport />}
    </Page>
  )
}

function NewImport() {
  const project = useProject()
  const fields = useQuery(fieldsQuery(project.id)).data
  const [chosen, setChosen] = useState<{ file: CsvFile; targets: Target[] }>()
  return (
    <>
      <ImportFile file={chosen?.file} onFile={(file) => setChosen(file && { file, targets: suggestTargets(file.columns, fields ?? []) })} />
      {chosen && <Mapped file={chosen.file} targets={chosen.targets} onTargets={(targets) => setChosen({ ...chosen, targets })} />}
    </>
  )
}

type MappedProps = { file: CsvFile; targets: Target[]; onTargets: (targets: Target[]) => void }

function Mapped({ file, targets, onTargets }: MappedProps) {
  const project = useProject()
  const api = useApi()
  const navigate = useNavigate()
  const [segmentId, setSegmentId] = useState('')
  const mapping = JSON.stringify(mappingOf(file.columns, targets))
  const check = useMutation({
    mutationFn: async () => {
      const checks: ImportCheck[] = []
      // A dry run never has a job. One after the other: the server checks one file of a project at a time.
      for (const part of file.parts)
        checks.push((await api.contacts.import(part, { mapping, dryRun: 'true', rowsBefore: String(countRows(checks)) })) as ImportCheck)
      return checks
    },
  })
  const start = useMutation({
    mutationFn: async (checks: ImportCheck[]) => {
      const jobs: string[] = []
      for (const [index, part] of file.parts.entries()) {
        const rowsBefore = String(countRows(checks.slice(0, index)))
        const queued = await api.contacts.import(part, { mapping, rowsBefore, ...(segmentId && { segmentId }) })
        if (!('jobId' in queued)) continue
        jobs.push(queued.jobId)
        const number = file.parts.length > 1 ? `, part ${index + 1} of ${file.parts.length}` : ''
        trackJob(project.id, { id: queued.jobId, label: `Import of ${file.name}${number}` })
      }
      await navigate({
        to: ROUTE,
        params: { projectId: project.id },
        search: { job: jobs.join(), ...(segmentId && { segment: segmentId }) },
      })
    },
  })
  const problem = mappingProblem(file.columns, targets)
  const error = check.error ?? start.error
  const checked = check.data && joinChecks(check.data)
  return (
    <>
      <ImportColumns
        columns={file.columns}
        targets={targets}
        onTargets={(next) => {
          check.reset()
          onTargets(next)
        }}
      />
      <ImportOptions segmentId={segmentId} onSegment={setSegmentId} />
      {error && <Banner tone="danger">{explain(error)}</Banner>}
      {checked && <CheckResult check={checked} />}
      <div className="flex flex-wrap items-center gap-3">
        {checked ? (
          <Button
            variant="primary"
            busy={start.isPending}
            disabled={checked.validCount === 0 || checked.fileError !== null}
            onClick={() => start.mutate(check.data ?? [])}
          >
            Import {countOf(checked.validCount, ROWS)}
          </Button>
        ) : (
          <Button variant="primary" busy={check.isPending} disabled={problem !== undefined} onClick={() => check.mutate()}>
            Check the file
          </Button>
        )}
        <p className="text-muted text-ui" role="status">
          {problem ?? (checked ? 'It runs in the background: you can leave this page.' : 'Nothing is changed yet.')}
        </p>
      </div>
    </>
  )
}

function ImportOptions({ segmentId, onSegment }: { segmentId: string; onSegment: (id: string) => void }) {
  const project = useProject()
  const segments = useQuery(segmentsQuery(project.id)).data?.filter(({ type }) => type === 'STATIC') ?? []
  const options = { '': 'None', ...namesById(segments) }
  return (
    <Card title="Options">
      <div className="space-y-3">
        {segments.length > 0 && (
          <Field name="segmentId" label="Add everyone to a segment" hint="Static segments only: conditions decide who is in the others.">
            <Select options={options} value={segmentId} onChange={(event) => onSegment(event.target.value)} />
          </Field>
        )}
        <p className="text-muted text-ui">
          New contacts are subscribed. An import subscribes nobody who has opted out, unless the column for the subscription says so.{' '}
          <Link to="/app/p/$projectId/suppressions" params={{ projectId: project.id }} className="link">
            Suppressed addresses
          </Link>{' '}
          stay suppressed.
        </p>
      </div>
    </Card>
  )
}
