import type { Template } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { CodeIssue } from '../../content/code-editor.tsx'
import { ContentWorkspace } from '../../content/content-workspace.tsx'
import { SendTest } from '../../content/send-test.tsx'
import { type TemplateValues, templateConsequenceOf, templateProblemOf, templateValuesOf } from '../../content/template/template-values.ts'
import { useTemplateDraft } from '../../content/template/use-template-draft.ts'
import { useLint } from '../../content/use-lint.ts'
import { templateUsageQuery } from '../../data/templates.ts'
import { EditorFrame } from '../../editor/editor-frame.tsx'
import type { Draft } from '../../editor/use-draft.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { ListLink } from '../../projects/record-page.tsx'
import { MoreActions } from '../../ui/dialog/menu.tsx'
import { TemplateFields } from './template-fields.tsx'
import { DeleteTemplate, TemplateMenu } from './template-menu.tsx'
import { UsageText } from './usage.tsx'
import { Versions } from './versions.tsx'

const ROUTE = '/app/p/$projectId/templates/$templateId'

export function TemplateEditor({ template }: { template: Template }) {
  const project = useProject()
  const api = useApi()
  const navigate = useNavigate()
  const { tab, version, as } = useSearch({ from: ROUTE })
  const [deleting, setDeleting] = useState(false)
  const draft = useTemplateDraft(template)
  const issues = useLint(draft.values)
  const saved = templateValuesOf(template)
  const problem = templateProblemOf(
    draft.values,
    issues?.filter(({ severity }) => severity === 'error'),
  )
  const consequence = templateConsequenceOf(saved, draft.values, template.version)
  return (
    <EditorFrame
      title={template.name}
      parent={<ListLink kind="Template" />}
      draft={draft}
      consequence={consequence}
      {...(problem && { problem })}
      actions={
        <>
          <SendTest send={(to) => api.templates.test(template.id, to)} person={as} isDirty={draft.isDirty} />
          <MoreActions>
            <TemplateMenu template={template} onDelete={() => setDeleting(true)} />
          </MoreActions>
        </>
      }
    >
      <Tabs template={template} note={draft.isDirty ? consequence : undefined} />
      {tab === 'versions' ? (
        <Versions template={template} chosen={version} isDirty={draft.isDirty} />
      ) : (
        <Workspace draft={draft} saved={saved} issues={issues} />
      )}
      {deleting && (
        <DeleteTemplate
          template={template}
          onClose={() => setDeleting(false)}
          onDeleted={async () => {
            draft.discard()
            await navigate({ to: '/app/p/$projectId/templates', params: { projectId: project.id }, ignoreBlocker: true })
          }}
        />
      )}
    </EditorFrame>
  )
}

/** The parts of the editor, where the template is used, and what saving does. */
function Tabs({ template, note }: { template: Template; note: string | undefined }) {
  const project = useProject()
  const { tab } = useSearch({ from: ROUTE })
  const usage = useQuery(templateUsageQuery(project.id, template.id)).data
  const link = (name: 'versions' | undefined, label: string) => (
    <Link
      to={ROUTE}
      params={{ projectId: project.id, templateId: template.id }}
      search={name ? { tab: name } : {}}
      activeProps={{}}
      // Otherwise the router marks both: their paths are the same.
      activeOptions={{ exact: true }}
      aria-current={tab === name ? 'page' : undefined}
      className="flex h-9 items-center border-transparent border-b-2 font-medium text-muted text-ui hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink pointer-coarse:h-11"
    >
      {label}
    </Link>
  )
  return (
    <div className="flex flex-wrap items-center gap-x-6 border-line border-b bg-surface px-4 sm:px-6 lg:px-8">
      <nav aria-label="Template" className="-mb-px flex gap-4">
        {link(undefined, 'Write')}
        {link('versions', `Versions (${template.version})`)}
      </nav>
      <p className="min-w-0 py-1.5 text-muted text-xs md:ml-auto">{note ?? (usage && <UsageText usage={usage} />)}</p>
    </div>
  )
}

type WorkspaceProps = { draft: Draft<TemplateValues>; saved: TemplateValues; issues: CodeIssue[] | undefined }

/** Fields above, email and preview below. */
function Workspace({ draft, saved, issues }: WorkspaceProps) {
  const navigate = useNavigate()
  const { as, show, dark } = useSearch({ from: ROUTE })
  return (
    <>
      <TemplateFields draft={draft} />
      <ContentWorkspace
        values={draft.values}
        saved={saved}
        onContent={draft.set}
        issues={issues}
        view={{ ...(as && { as }), ...(show && { show }), ...(dark && { dark }) }}
        onView={(search) => navigate({ to: '.', search: search as never, replace: true, resetScroll: false })}
      />
    </>
  )
}
