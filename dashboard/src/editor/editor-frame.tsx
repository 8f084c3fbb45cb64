import { useBlocker } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Dialog } from '../ui/dialog/dialog.tsx'
import { Button } from '../ui/form/button.tsx'
import { Banner } from '../ui/notice/banner.tsx'
import { explain } from '../ui/notice/explain.ts'
import { PageHeader } from '../ui/page/page.tsx'
import { showKeys, useShortcuts } from '../ui/shortcuts/shortcuts.ts'
import { ClockTime, Time } from '../ui/text/time.tsx'
import type { Draft } from './use-draft.ts'

type EditorFrameProps<V extends object> = {
  title: string
  /** Link to the list that this page belongs to. */
  parent?: ReactNode
  draft: Draft<V>
  /** The consequence of saving: `Saving changes what /v1/send sends.` */
  consequence: string
  /** Why saving is not possible yet; shown beside the button. */
  problem?: string
  saveLabel?: string
  /** Changes are saved by themselves: there is no Save, and nothing to ask before leaving. */
  autosaves?: boolean
  /** Pages below this path show the same thing: going there asks nothing, as the changes are back on return. */
  within?: string
  /** Further buttons of the header, before Save. */
  actions?: ReactNode
  children: ReactNode
}

/** The frame of every editor: one explicit Save, the state of the work, conflicts, and a question before leaving unsaved work. */
export function EditorFrame<V extends object>(props: EditorFrameProps<V>) {
  const { title, parent, draft, consequence, problem, saveLabel = 'Save', autosaves = false, within, actions, children } = props
  const canSave = draft.isDirty && !problem && !draft.hasConflict
  useShortcuts([{ keys: 'mod+s', label: 'Save', group: 'Editor', run: () => void (canSave && draft.save()) }])
  return (
    <>
      <PageHeader
        title={title}
        parent={parent}
        actions={
          <>
            <span className="hidden text-muted text-xs sm:inline" role="status">
              <SaveState draft={draft} problem={problem} />
            </span>
            {actions}
            {!autosaves && (
              <Button
                variant="primary"
                size="sm"
                busy={draft.isSaving}
                disabled={!canSave}
                title={`${consequence} (${showKeys('mod+s')})`}
                onClick={() => draft.save()}
              >
                {saveLabel}
              </Button>
            )}
          </>
        }
      />
      <div className="space-y-2 px-4 pt-4 empty:hidden sm:px-6 lg:px-8">
        <DraftNotices draft={draft} />
      </div>
      {children}
      {!autosaves && <LeaveGuard isDirty={draft.isDirty} within={within} />}
    </>
  )
}

function SaveState<V extends object>({ draft, problem }: { draft: Draft<V>; problem: string | undefined }) {
  if (draft.isSaving) return 'Saving…'
  if (draft.isDirty) return problem ? `Not saved: ${problem}` : 'Not saved'
  if (!draft.savedAt) return null
  return (
    <>
      Saved <ClockTime value={draft.savedAt} />
    </>
  )
}

/** Conflicts, errors and work that was restored. */
export function DraftNotices<V extends object>({ draft }: { draft: Draft<V> }) {
  if (draft.hasConflict) {
    return (
      <Banner
        tone="warning"
        action={
          <span className="flex gap-2">
            <Button size="sm" onClick={draft.loadTheirs}>
              Load theirs
            </Button>
            <Button size="sm" onClick={draft.keepMine}>
              Keep mine
            </Button>
          </span>
        }
      >
        Someone else changed this while you were editing. Load theirs drops your changes; Keep mine replaces theirs when you save.
      </Banner>
    )
  }
  return (
    <>
      {draft.error && <Banner tone="danger">{explain(draft.error)}</Banner>}
      {draft.restoredFrom && draft.isDirty && (
        <Banner
          action={
            <Button size="sm" onClick={draft.discard}>
              Discard
            </Button>
          }
        >
          Your unsaved changes from <Time value={draft.restoredFrom} /> are back.
        </Banner>
      )}
    </>
  )
}

/** Unsaved changes are stored in this browser, so leaving the page loses nothing; but no other member sees them. */
function LeaveGuard({ isDirty, within }: { isDirty: boolean; within: string | undefined }) {
  const blocker = useBlocker({
    // A change of the search, such as another tab of the same editor, does not leave it.
    shouldBlockFn: ({ current, next }) =>
      isDirty && current.pathname !== next.pathname && !(within && next.pathname.startsWith(`${within}/`)),
    enableBeforeUnload: isDirty,
    withResolver: true,
  })
  return (
    <Dialog
      title="Leave without saving?"
      description="Your changes stay in this browser and are offered again, but they are not saved."
      open={blocker.status === 'blocked'}
      onOpenChange={(open) => !open && blocker.reset?.()}
    >
      <div className="flex flex-col-reverse gap-2 sm:flex-row sm:justify-end">
        <Button onClick={() => blocker.proceed?.()}>Leave</Button>
        <Button variant="primary" onClick={() => blocker.reset?.()}>
          Stay
        </Button>
      </div>
    </Dialog>
  )
}
