import type { Template } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { PanelRightClose, PanelRightOpen } from 'lucide-react'
import { lazy, Suspense, useMemo, useRef, useState } from 'react'
import { apiOf, projectKey } from '../../api.ts'
import { EditorFrame } from '../../editor/editor-frame.tsx'
import { type Draft, useDraft } from '../../editor/use-draft.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { ListLink } from '../../projects/record-page.tsx'
import { usePreference } from '../../session/preferences.ts'
import { IconButton } from '../../ui/button.tsx'
import { MoreActions } from '../../ui/menu.tsx'
import { showKeys, useShortcuts } from '../../ui/shortcuts.ts'
import type { CodeEditorHandle, CodeIssue } from './code-editor.tsx'
import { fieldWords } from './completion.ts'
import { LintPanel } from './lint-panel.tsx'
import { Preview } from './preview.tsx'
import { contactFieldsQuery, templateQuery, usageQuery } from './queries.ts'
import { SendTest } from './send-test.tsx'
import { TemplateFields } from './template-fields.tsx'
import { DeleteTemplate, TemplateMenu } from './template-menu.tsx'
import { changesOf, consequenceOf, problemOf, type TemplateValues, valuesOf } from './template-values.ts'
import { UsageText } from './usage.tsx'
import { useDebouncedValue } from './use-debounced-value.ts'
import { Versions } from './versions.tsx'

const CodeEditor = lazy(() => import('./code-editor.tsx'))

const ROUTE = '/app/p/$projectId/templates/$templateId'
const savedOf = (template: Template) => ({ values: valuesOf(template), revision: template.updatedAt })

export function TemplateEditor({ template }: { template: Template }) {
  const project = useProject()
  const navigate = useNavigate()
  const { tab, version, as } = useSearch({ from: ROUTE })
  const [deleting, setDeleting] = useState(false)
  const draft = useTemplateDraft(template)
  const issues = useLint(draft.values)
  const saved = valuesOf(template)
  const problem = problemOf(
    draft.values,
    issues?.filter(({ severity }) => severity === 'error'),
  )
  const consequence = consequenceOf(saved, draft.values, template.version)
  return (
    <EditorFrame
      title={template.name}
      parent={<ListLink kind="Template" />}
      draft={draft}
      consequence={consequence}
      {...(problem && { problem })}
      actions={
        <>
          <SendTest templateId={template.id} person={as} isDirty={draft.isDirty} />
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
        <Workspace draft={draft} issues={issues} />
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

function useTemplateDraft(template: Template) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const query = templateQuery(project.id, template.id)
  return useDraft<TemplateValues>({
    name: `template/${template.id}`,
    saved: savedOf(template),
    save: async (values, revision) => {
      const changed = await api.templates.update(template.id, changesOf(valuesOf(template), values), { ifMatch: revision })
      queries.setQueryData(query.queryKey, changed)
      await Promise.all(
        ['versions', 'list'].map((part) => queries.invalidateQueries({ queryKey: projectKey(project.id, 'templates', part) })),
      )
      return savedOf(changed)
    },
    reload: async () => savedOf(await queries.fetchQuery({ ...query, staleTime: 0 })),
  })
}

const LINT_AFTER_MS = 500

/** What the server finds in the code. Undefined until its first answer. */
function useLint({ subject, body, type }: TemplateValues): CodeIssue[] | undefined {
  const project = useProject()
  const settled = useDebouncedValue(JSON.stringify({ subject, body, type }), LINT_AFTER_MS)
  return useQuery({
    queryKey: projectKey(project.id, 'templates', 'lint', settled),
    queryFn: async () =>
      (await apiOf(project.id).templates.lintContent(JSON.parse(settled) as Pick<TemplateValues, 'subject' | 'body' | 'type'>)).issues,
    placeholderData: (previous) => previous,
    gcTime: 0,
    refetchOnWindowFocus: false,
  }).data
}

/** The parts of the editor, where the template is used, and what saving does. */
function Tabs({ template, note }: { template: Template; note: string | undefined }) {
  const project = useProject()
  const { tab } = useSearch({ from: ROUTE })
  const usage = useQuery(usageQuery(project.id, template.id)).data
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

const NO_ISSUES: CodeIssue[] = []

/** Fields above, code and preview side by side; one below the other on small screens. */
function Workspace({ draft, issues }: { draft: Draft<TemplateValues>; issues: CodeIssue[] | undefined }) {
  const project = useProject()
  const navigate = useNavigate()
  const { as, show, dark } = useSearch({ from: ROUTE })
  const editor = useRef<CodeEditorHandle>(null)
  const fields = useQuery(contactFieldsQuery(project.id)).data
  const variables = useMemo(() => fieldWords(fields ?? []), [fields])
  const [hasPreview, setHasPreview] = usePreference('template-preview', true)
  const toggle = () => setHasPreview(!hasPreview)
  useShortcuts([{ keys: 'mod+/', label: 'Show or hide the preview', group: 'Editor', run: toggle }])
  return (
    <>
      <TemplateFields draft={draft} />
      <div className={`grid grid-cols-1 border-line border-y ${hasPreview ? 'xl:grid-cols-2' : ''}`}>
        <section aria-label="Code" className="flex h-[32rem] min-w-0 flex-col bg-surface xl:h-[max(32rem,calc(100dvh-19rem))]">
          <div className="flex min-h-11 items-center justify-between border-line border-b px-3 text-muted text-xs">
            <span>
              HTML and <code className="font-mono">{'{{ variables }}'}</code>; type <code className="font-mono">{'{{'}</code> for a list
            </span>
            <IconButton label={hasPreview ? 'Hide the preview' : 'Show the preview'} hint={showKeys('mod+/')} onClick={toggle}>
              {hasPreview ? <PanelRightClose /> : <PanelRightOpen />}
            </IconButton>
          </div>
          <div className="min-h-0 flex-1">
            <Suspense fallback={<Loading />}>
              <CodeEditor
                ref={editor}
                label="Body"
                value={draft.values.body}
                onChange={(body) => draft.set({ body })}
                variables={variables}
                issues={issues ?? NO_ISSUES}
              />
            </Suspense>
          </div>
          <LintPanel issues={issues} onJump={(line) => editor.current?.goToLine(line)} />
        </section>
        {hasPreview && (
          <div className="h-[36rem] min-w-0 border-line max-xl:border-t xl:h-[max(32rem,calc(100dvh-19rem))] xl:border-l">
            <Preview
              values={draft.values}
              view={{ ...(as && { as }), ...(show && { show }), ...(dark && { dark }) }}
              onView={(search) => navigate({ to: '.', search: search as never, replace: true, resetScroll: false })}
            />
          </div>
        )}
      </div>
    </>
  )
}

function Loading() {
  return (
    <p className="p-3 text-muted text-ui" role="status">
      Loading…
    </p>
  )
}
