import { SternaError } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { FileX } from 'lucide-react'
import { useEffect } from 'react'
import { useProject } from '../../projects/current.ts'
import { rememberRecent } from '../../projects/recents.ts'
import { buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorState } from '../../ui/error-state.tsx'
import { Page } from '../../ui/page.tsx'
import { templateQuery } from './queries.ts'
import { TemplateEditor } from './template-editor.tsx'

export function TemplatePage() {
  const { templateId } = useParams({ from: '/app/p/$projectId/templates/$templateId' })
  const project = useProject()
  const query = useQuery(templateQuery(project.id, templateId))
  const name = query.data?.name
  useEffect(() => {
    if (name) rememberRecent(project.id, { path: `/app/p/${project.id}/templates/${templateId}`, label: name, kind: 'Template' })
  }, [name, project.id, templateId])

  if (query.isPending) return <Page title="Template" width="full" loading />
  if (query.error instanceof SternaError && query.error.status === 404) return <NoSuchTemplate />
  if (query.isLoadingError) return <ErrorState error={query.error} retry={query.refetch} />
  return <TemplateEditor key={templateId} template={query.data} />
}

function NoSuchTemplate() {
  const project = useProject()
  return (
    <Page title="Template">
      <EmptyState
        icon={FileX}
        title="No such template"
        action={
          <Link to="/app/p/$projectId/templates" params={{ projectId: project.id }} className={buttonClass('primary')}>
            All templates
          </Link>
        }
      >
        It was deleted, or the link is wrong.
      </EmptyState>
    </Page>
  )
}
