import type { Design } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import type { LucideIcon } from 'lucide-react'
import { thumbnailQuery } from '../../data/templates.ts'
import { useProject } from '../../projects/current.ts'
import { MessageThumbnail, useSeen } from '../../ui/message/message-thumbnail.tsx'
import { contentOf } from '../values/content-values.ts'

/** Something to start from. Without a content it has an icon instead of a picture. */
export type StartChoice = { key: string; label: string; content?: { design: Design | null; body: string }; icon?: LucideIcon }
export type StartGroup = { heading: string; choices: StartChoice[] }

type StartPickerProps = { legend: string; groups: StartGroup[]; chosen: string; onChoose: (key: string) => void }

/** Emails to start from, with pictures. */
export function StartPicker({ legend, groups, chosen, onChoose }: StartPickerProps) {
  return (
    <fieldset>
      <legend className="mb-1 font-medium text-ui">{legend}</legend>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard */}
      <div className="max-h-[46dvh] space-y-3 overflow-y-auto rounded-lg border border-line bg-canvas p-3" tabIndex={0}>
        {groups
          .filter(({ choices }) => choices.length > 0)
          .map(({ heading, choices }) => (
            <div key={heading}>
              <p className="mb-1.5 text-muted text-xs">{heading}</p>
              <div className="grid grid-cols-[repeat(auto-fill,minmax(8.5rem,1fr))] gap-3">
                {choices.map((choice) => (
                  <Choice key={choice.key} choice={choice} isChosen={choice.key === chosen} onChoose={() => onChoose(choice.key)} />
                ))}
              </div>
            </div>
          ))}
      </div>
    </fieldset>
  )
}

function Choice({
  choice: { label, content, icon: Icon },
  isChosen,
  onChoose,
}: {
  choice: StartChoice
  isChosen: boolean
  onChoose: () => void
}) {
  return (
    <label className="min-w-0 cursor-pointer rounded-lg border border-line bg-surface p-1.5 outline-offset-2 has-checked:border-accent has-checked:ring-2 has-checked:ring-accent has-focus-visible:outline-2">
      <input type="radio" name="start" className="sr-only" checked={isChosen} onChange={onChoose} />
      {Icon ? (
        <span className="flex h-[142px] items-center justify-center">
          <Icon className="size-8 text-muted" aria-hidden="true" />
        </span>
      ) : (
        <ContentThumbnail content={content} />
      )}
      <span className="mt-1 block truncate text-center text-xs">{label}</span>
    </label>
  )
}

const WIDTH_PX = 116
const HEIGHT_PX = 140

/** The beginning of an email, loaded when it is on the screen. */
export function ContentThumbnail({
  content,
  width = WIDTH_PX,
  height = HEIGHT_PX,
}: {
  content: StartChoice['content']
  width?: number
  height?: number
}) {
  const project = useProject()
  const [element, seen] = useSeen<HTMLSpanElement>()
  const request = content ? JSON.stringify(contentOf(content)) : ''
  const url = useQuery({ ...thumbnailQuery(project.id, request), enabled: seen && content !== undefined }).data
  return (
    <span ref={element} className="mx-auto block w-fit overflow-hidden rounded border border-line">
      <MessageThumbnail url={url} width={width} height={height} />
    </span>
  )
}
