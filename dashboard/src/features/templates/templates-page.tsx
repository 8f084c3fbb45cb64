import type { TemplateListItem } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { FileText } from 'lucide-react'
import { useState } from 'react'
import { ContentThumbnail } from '../../content/starters/start-picker.tsx'
import { TYPE_NAMES } from '../../content/values/content-values.ts'
import { templateUseCountsQuery } from '../../data/templates.ts'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { toCursorPage } from '../../list/numbered-pages.ts'
import { useList } from '../../list/use-list.ts'
import { useProject } from '../../projects/current.ts'
import { listUses } from '../../projects/uses.ts'
import { FirstRun } from '../../ui/page/first-run.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { Badge } from '../../ui/text/badge.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Time } from '../../ui/text/time.tsx'
import { NewTemplate } from './new-template.tsx'
import { DeleteTemplate, TemplateMenu } from './template-menu.tsx'
import { TemplatePeek } from './template-peek.tsx'
import { templatesQuery } from './templates-query.ts'
import { sentCount } from './usage.tsx'

const NOUN = { one: 'template', many: 'templates' }
const FILTERS: Filter[] = [
  { name: 'type', label: 'Type', kind: 'choice', options: TYPE_NAMES },
  { name: 'workflow', label: 'Belongs to', kind: 'choice', options: { none: 'No workflow' } },
]
const rowId = ({ id }: TemplateListItem) => id

type UsageCounts = ReturnType<typeof useUsageCounts>

function useUsageCounts(templates: TemplateListItem[] | undefined) {
  const project = useProject()
  return useQuery(templateUseCountsQuery(project.id, templates?.map(rowId) ?? [])).data
}

const columnsOf = (usage: UsageCounts): Column<TemplateListItem>[] => [
  {
    id: 'name',
    heading: 'Name',
    sort: 'name',
    cell: ({ name, body, workflowId }) => (
      <span className="flex items-center gap-3" title={name}>
        <span className="hidden shrink-0 sm:block">
          <ContentThumbnail content={{ design: null, body }} width={44} height={32} />
        </span>
        <span className="truncate">{name}</span>
        {workflowId && <Badge>Workflow</Badge>}
      </span>
    ),
  },
  { id: 'subject', heading: 'Subject', width: 'sm:w-[24%]', from: 'md', cell: ({ subject }) => <span title={subject}>{subject}</span> },
  { id: 'type', heading: 'Type', width: 'w-44', cell: ({ type }) => TYPE_NAMES[type] },
  { id: 'usedBy', heading: 'Used by', width: 'w-40', from: 'xl', cell: ({ id }) => <Used counts={usage?.get(id)} /> },
  {
    id: 'sent',
    heading: 'Sent',
    width: 'w-20',
    from: 'lg',
    numeric: true,
    cell: ({ id }) => {
      const counts = usage?.get(id)
      return counts ? sentCount(counts) : <span className="text-muted">–</span>
    },
  },
  {
    id: 'updatedAt',
    heading: 'Last edited',
    sort: 'updatedAt',
    firstDir: 'desc',
    width: 'w-32',
    cell: ({ updatedAt }) => <Time value={updatedAt} />,
  },
  {
    id: 'createdAt',
    heading: 'Created',
    sort: 'createdAt',
    firstDir: 'desc',
    width: 'w-32',
    from: 'lg',
    optional: true,
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
  { id: 'version', heading: 'Version', width: 'w-20', from: 'lg', numeric: true, optional: true, cell: ({ version }) => version },
]

function Used({ counts }: { counts: Parameters<typeof listUses>[0] | undefined }) {
  if (!counts) return <span className="text-muted">–</span>
  const text = listUses(counts)
  return <span title={text}>{text}</span>
}

export function TemplatesPage() {
  const project = useProject()
  const [deleting, setDeleting] = useState<TemplateListItem>()
  const list = useList<TemplateListItem>({
    name: 'templates',
    filters: FILTERS,
    load: async (api, request) => toCursorPage(await api.templates.list(templatesQuery(request))),
    rowId,
  })
  const usage = useUsageCounts(list.rows)
  return (
    <>
      <ListPage
        title="Templates"
        noun={NOUN}
        list={list}
        columns={columnsOf(usage)}
        rowLabel={({ name }) => name}
        rowPath={({ id }) => `/app/p/${project.id}/templates/${id}`}
        peek={(id, template) => <TemplatePeek key={id} id={id} template={template} />}
        rowMenu={(template) => <TemplateMenu template={template} onDelete={() => setDeleting(template)} />}
        searchHint="Search by name or subject"
        defaultSort={{ sort: 'updatedAt', dir: 'desc' }}
        byTime={list.request.sort !== 'name'}
        actions={<NewTemplate />}
        call={curl('GET', `/templates?pageSize=${list.request.limit}`)}
        firstRun={
          <FirstRun
            icon={FileText}
            title="No templates yet"
            action={<NewTemplate label="Write your first template" />}
            call={{
              title: 'Or by the API',
              code: curl('POST', '/templates', {
                body: { name: 'Welcome', subject: 'Welcome, {{ firstName ?? "friend" }}', body: '<p>Hello</p>', type: 'TRANSACTIONAL' },
              }),
            }}
          >
            Write an email once; send it from code, campaigns and workflows.
          </FirstRun>
        }
      />
      {deleting && <DeleteTemplate template={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  )
}
