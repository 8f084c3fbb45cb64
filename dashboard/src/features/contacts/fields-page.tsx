import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { ChevronRight, Tags } from 'lucide-react'
import { useState } from 'react'
import { fieldsQuery, fieldUsageQuery, fieldValuesQuery, invalidateFields } from '../../data/contacts.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { ConfirmDialog } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import { PageHeader } from '../../ui/page/page.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { SearchedList } from '../../ui/table/searched-list.tsx'
import { Badge } from '../../ui/text/badge.tsx'
import { countOf, formatCount, Percent } from '../../ui/text/count.tsx'
import { showValue } from './contact/value.tsx'
import { ContactsTabs } from './contacts-tabs.tsx'

type FieldInfo = { field: string; type: string; coverage: number }

export function FieldsPage() {
  const project = useProject()
  const fields = useQuery(fieldsQuery(project.id))
  return (
    <>
      <PageHeader title="Fields" count={fields.data && formatCount(fields.data.length)} />
      <ContactsTabs />
      <div className="max-w-[1440px] px-4 py-6 sm:px-6 lg:px-8">
        {fields.isLoadingError ? (
          <ErrorState title="Could not load the fields" error={fields.error} retry={fields.refetch} />
        ) : fields.data?.length === 0 ? (
          <FirstRun icon={Tags} title="No fields yet">
            Fields appear with the first value you store: in the data of a contact, in an event, or as a column of an import.
          </FirstRun>
        ) : fields.data ? (
          <FieldList fields={fields.data} />
        ) : (
          <Skeleton className="h-64" />
        )}
      </div>
    </>
  )
}

const NAMES: Record<string, string> = { string: 'Text', number: 'Number', boolean: 'Yes or no', date: 'Date' }

const ROUTE = '/app/p/$projectId/contacts/fields'
const NOUN = { one: 'field', many: 'fields' }

function FieldList({ fields }: { fields: FieldInfo[] }) {
  const { id: projectId } = useProject()
  const { q = '' } = useSearch({ from: ROUTE })
  const navigate = useNavigate()
  return (
    <SearchedList
      items={fields}
      noun={NOUN}
      textOf={({ field }) => field}
      q={q}
      onQuery={(next) => navigate({ to: ROUTE, params: { projectId }, search: next ? { q: next } : {}, replace: true })}
    >
      {(shown) => (
        <ul className="divide-y divide-line rounded-lg border border-line bg-surface text-ui">
          {shown.map((field) => (
            <FieldItem key={field.field} field={field} />
          ))}
        </ul>
      )}
    </SearchedList>
  )
}

function FieldItem({ field: { field, type, coverage } }: { field: FieldInfo }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <li>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
        className="flex min-h-10 w-full items-center gap-3 px-4 text-left hover:bg-sunken/70"
      >
        <ChevronRight className={`size-4 shrink-0 text-muted ${isOpen ? 'rotate-90' : ''}`} aria-hidden="true" />
        <span className="min-w-0 flex-1 truncate font-medium" title={field}>
          {field}
        </span>
        <Badge>{NAMES[type] ?? type}</Badge>
        <Coverage value={coverage} />
      </button>
      {isOpen && <FieldDetails field={field} />}
    </li>
  )
}

/** The share of the contacts that have a value. */
function Coverage({ value }: { value: number }) {
  return (
    <span className="flex w-48 shrink-0 items-center justify-end gap-3 text-muted max-sm:w-auto">
      <span className="h-1.5 w-16 overflow-hidden rounded-full bg-sunken max-sm:hidden" aria-hidden="true">
        <span className="block h-full rounded-full bg-accent" style={{ width: `${Math.min(value, 1) * 100}%` }} />
      </span>
      <span className="text-right">
        <Percent value={value} /> <span className="max-sm:sr-only">of contacts</span>
      </span>
    </span>
  )
}

function FieldDetails({ field }: { field: string }) {
  const project = useProject()
  const values = useQuery(fieldValuesQuery(project.id, field))
  const usage = useQuery(fieldUsageQuery(project.id, field))
  if (values.isError || usage.isError) {
    return (
      <ErrorState
        title="Could not load this field"
        error={values.error ?? usage.error}
        retry={() => Promise.all([values.refetch(), usage.refetch()])}
      />
    )
  }
  if (!values.data || !usage.data) return <Skeleton className="mx-4 mb-3 h-16" />
  const uses = usesOf(usage.data)
  return (
    <div className="space-y-3 px-4 pt-1 pb-4 sm:pl-11">
      <p className="text-muted">
        {countOf(values.data.count, { one: 'value', many: 'values' })}
        {values.data.count >= values.data.limit ? ' or more' : ''}, stored by{' '}
        {countOf(usage.data.contactCount, { one: 'contact', many: 'contacts' })}.
      </p>
      <ul className="flex flex-wrap gap-1">
        {values.data.values.slice(0, 20).map((value) => (
          <li key={showValue(value)} className="max-w-60 truncate rounded-md bg-sunken px-1.5 font-mono text-code" title={showValue(value)}>
            {showValue(value)}
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-muted">{uses.length > 0 ? `Used in ${uses.join(', ')}.` : 'Not used in any segment, campaign or workflow.'}</p>
        <DeleteField field={field} uses={uses} contactCount={usage.data.contactCount} canDelete={usage.data.canDelete} />
      </div>
    </div>
  )
}

type Usage = { usedInSegments: { name: string }[]; usedInCampaigns: { name: string }[]; usedInWorkflows: { name: string }[] }

function usesOf({ usedInSegments, usedInCampaigns, usedInWorkflows }: Usage): string[] {
  return [
    ...usedInSegments.map(({ name }) => `the segment ${name}`),
    ...usedInCampaigns.map(({ name }) => `the campaign ${name}`),
    ...usedInWorkflows.map(({ name }) => `the workflow ${name}`),
  ]
}

type DeleteFieldProps = { field: string; uses: string[]; contactCount: number; canDelete: boolean }

function DeleteField({ field, uses, contactCount, canDelete }: DeleteFieldProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  async function remove() {
    const { deletedFrom } = await api.fields.delete(field)
    await invalidateFields(queries, project.id)
    toast(`${field} was deleted from ${countOf(deletedFrom, { one: 'contact', many: 'contacts' })}`)
  }
  if (!canDelete) return <p className="text-muted">It can be deleted once nothing uses it.</p>
  return (
    <ConfirmDialog
      title={`Delete the field ${field}?`}
      description={`Its value is deleted from ${countOf(contactCount, { one: 'contact', many: 'contacts' })} permanently.${uses.length > 0 ? ` ${uses.join(', ')} will match nobody by it.` : ''}`}
      action="Delete field"
      phrase={contactCount > 100 ? field : undefined}
      onConfirm={remove}
    >
      {(open) => (
        <Button size="sm" onClick={open}>
          Delete field…
        </Button>
      )}
    </ConfirmDialog>
  )
}
