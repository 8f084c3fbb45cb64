import type { Result, Template } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { TYPE_NAMES } from '../../content/values/content-values.ts'
import { storeTemplate, templateVersionQuery, templateVersionsQuery, thumbnailQuery } from '../../data/templates.ts'
import { designLines } from '../../design/document/design-lines.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Fact, Facts } from '../../ui/dialog/peek-panel.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { MessageFrame } from '../../ui/message/message-frame.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Badge } from '../../ui/text/badge.tsx'
import { Time } from '../../ui/text/time.tsx'
import { diffLines, foldDiff } from './line-diff.ts'

type VersionsProps = {
  template: Template
  /** The chosen version, from the URL. */
  chosen: string | undefined
  /** Restoring would conflict with changes that are not saved. */
  isDirty: boolean
}

export function Versions({ template, chosen, isDirty }: VersionsProps) {
  const project = useProject()
  const versions = useQuery(templateVersionsQuery(project.id, template.id))
  if (versions.isLoadingError) return <ErrorState title="Could not load the versions" error={versions.error} retry={versions.refetch} />
  if (!versions.data) return null
  const shown = chosen ?? String(versions.data[0]?.version ?? '')
  return (
    <div className="grid grid-cols-1 lg:grid-cols-[18rem_minmax(0,1fr)]">
      <nav aria-label="Versions" className="max-h-72 overflow-y-auto border-line border-b lg:max-h-none lg:border-r lg:border-b-0">
        <ul className="divide-y divide-line">
          {versions.data.map(({ version, isCurrent, savedBy, savedAt }) => (
            <li key={version}>
              <Link
                to="/app/p/$projectId/templates/$templateId"
                params={{ projectId: project.id, templateId: template.id }}
                search={{ tab: 'versions', version: String(version) }}
                replace
                resetScroll={false}
                activeProps={{}}
                aria-current={shown === String(version) ? 'true' : undefined}
                className="block px-4 py-2 text-ui hover:bg-sunken/70 aria-[current=true]:bg-accent-soft/60 sm:px-6 lg:pl-8"
              >
                <span className="flex items-center gap-2 font-medium">
                  Version {version}
                  {isCurrent && <Badge tone="accent">Live</Badge>}
                </span>
                <span className="block truncate text-muted text-xs">
                  <Time value={savedAt} /> by {savedBy ?? 'an API key'}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {shown && <VersionView key={shown} template={template} version={shown} isDirty={isDirty} />}
    </div>
  )
}

function VersionView({ template, version, isDirty }: { template: Template; version: string; isDirty: boolean }) {
  const project = useProject()
  const query = useQuery(templateVersionQuery(project.id, template.id, version))
  if (query.isLoadingError) return <ErrorState title="Could not load this version" error={query.error} retry={query.refetch} />
  if (!query.data) return null
  const content = query.data
  const isLive = content.version === template.version
  return (
    <section aria-label={`Version ${version}`} className="min-w-0 space-y-4 px-4 py-4 sm:px-6">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="font-semibold text-base">Version {version}</h2>
        {!isLive && <Restore template={template} version={content.version} isDirty={isDirty} />}
      </div>
      <Facts>
        <Fact label="Subject">{content.subject}</Fact>
        {content.previewText && <Fact label="Preview text">{content.previewText}</Fact>}
        <Fact label="Type">{TYPE_NAMES[content.type]}</Fact>
        <Fact label="From">{[content.fromName, content.from].filter(Boolean).join(', ') || 'Each call names it'}</Fact>
        <Fact label="Reply to">{content.replyTo ?? 'The sender'}</Fact>
      </Facts>
      {isLive ? <Code body={textOf(content)} /> : <Changes before={content} after={template} />}
      <VersionFrame content={content} />
    </section>
  )
}

/** The version as it looks. */
function VersionFrame({ content }: { content: Content & { version: number } }) {
  const project = useProject()
  const url = useQuery(thumbnailQuery(project.id, JSON.stringify({ body: content.body }))).data
  if (!url) return null
  return (
    <div className="h-[32rem] overflow-hidden rounded-lg border border-line">
      <MessageFrame fill images title={`Version ${content.version}`} url={url} />
    </div>
  )
}

function Restore({ template, version, isDirty }: { template: Template; version: number; isDirty: boolean }) {
  const restore = useRestore(template)
  return (
    <div className="flex flex-wrap items-center gap-2">
      {isDirty && <span className="text-muted text-xs">Save or discard your changes first.</span>}
      <Button
        size="sm"
        disabled={isDirty}
        busy={restore.isPending}
        title={`Makes the content of version ${version} live again, as version ${template.version + 1}`}
        onClick={() => restore.mutate(version)}
      >
        Restore version {version}
      </Button>
      {restore.error && <Banner tone="danger">{explain(restore.error)}</Banner>}
    </div>
  )
}

/** Makes the content of an older version live again, as a new one. Reversible, so it offers Undo instead of asking. */
function useRestore(template: Template) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  async function restore(version: number, revision: string) {
    const restored = await api.templates.restoreVersion(template.id, String(version), { ifMatch: revision })
    await storeTemplate(queries, project.id, restored)
    return restored
  }
  return useMutation({
    mutationFn: async (version: number) => {
      const restored = await restore(version, template.updatedAt)
      const undo = () => restore(template.version, restored.updatedAt).catch((error: unknown) => toast(explain(error), { tone: 'danger' }))
      toast(`Version ${version} is live again, as version ${restored.version}`, { action: { label: 'Undo', run: undo } })
    },
  })
}

type Content = Pick<Result<'GET /templates/{id}/versions/{version}'>, 'subject' | 'body' | 'design'>

/** Blocks as lines of text, or the code. Two contents are shown in the same form. */
const textOf = ({ design, body }: Content, asBlocks = true) => (design && asBlocks ? designLines(design) : body)

const LINES = {
  same: { sign: ' ', className: '' },
  removed: { sign: '−', className: 'bg-danger-soft text-danger' },
  added: { sign: '+', className: 'bg-good-soft text-good' },
}

const BOX = 'max-h-[36rem] overflow-auto rounded-lg border border-line bg-surface py-2 font-mono text-code'

/** The changes from this version to the live one. */
function Changes({ before, after }: { before: Content; after: Content }) {
  const asBlocks = Boolean(before.design && after.design)
  const [old, live] = [textOf(before, asBlocks), textOf(after, asBlocks)]
  const parts = old === live ? [] : foldDiff(diffLines(old, live))
  return (
    <div className="space-y-2">
      {before.subject !== after.subject && <p className="text-ui">The subject is now “{after.subject}”.</p>}
      <p className="text-muted text-ui">{parts.length === 0 ? sameWords(before, after) : 'From this version (−) to the live one (+):'}</p>
      {parts.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
        <pre className={BOX} tabIndex={0}>
          {parts.map((part) =>
            part.kind === 'skipped' ? (
              <div key={part.id} className="px-3 text-muted">
                ⋯ {part.count} equal
              </div>
            ) : (
              <div key={part.id} className={`whitespace-pre-wrap wrap-break-word px-3 ${LINES[part.kind].className}`}>
                {LINES[part.kind].sign} {part.text}
              </div>
            ),
          )}
        </pre>
      )}
    </div>
  )
}

function sameWords(before: Content, after: Content) {
  if (before.body === after.body) return 'The email is the same as in the live version.'
  return 'The blocks are the same as in the live version; they are rendered in another brand.'
}

function Code({ body }: { body: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
    <pre className={`${BOX} whitespace-pre-wrap wrap-break-word px-3`} tabIndex={0}>
      {body}
    </pre>
  )
}
