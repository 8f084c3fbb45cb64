import { Link } from '@tanstack/react-router'
import type { Editor } from '@tiptap/core'
import { Plus, Trash2, Upload } from 'lucide-react'
import { useProject } from '../../projects/current.ts'
import { Button, IconButton } from '../../ui/form/button.tsx'
import { CheckboxLine } from '../../ui/form/checkbox.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Input, Select, TextArea } from '../../ui/form/input.tsx'
import { isImageSource } from '../document/block-attrs.ts'
import { SOCIAL_NAMES } from '../document/words.ts'
import { setColumnCount } from '../edit/block-commands.ts'
import { ConditionSettings } from './condition-settings.tsx'
import { AlignInput, ColorInput, LinkInput, NumberInput, Segments } from './inputs.tsx'

type Attrs = Record<string, unknown>

type BlockSettingsProps = {
  editor: Editor
  type: string
  pos: number
  /** The number of columns of a columns block. */
  columns: number
  attrs: Attrs
  onAttrs: (patch: Attrs) => void
  onUpload: () => void
}

export function BlockSettings(props: BlockSettingsProps) {
  const { type, attrs, onAttrs } = props
  const align = (standard?: string) => (
    <AlignInput align={attrs.align} {...(standard && { standard })} onAlign={(chosen) => onAttrs({ align: chosen })} />
  )
  switch (type) {
    case 'heading':
      return (
        <>
          <Segments
            label="Size"
            choices={[1, 2, 3].map((level) => ({ value: level, label: ['Large', 'Medium', 'Small'][level - 1]! }))}
            chosen={Number(attrs.level)}
            onChoose={(level) => onAttrs({ level })}
          />
          {align()}
        </>
      )
    case 'paragraph':
      return align()
    case 'button':
      return (
        <>
          <LinkInput label="Link" href={String(attrs.href ?? '')} onHref={(href) => onAttrs({ href })} />
          <Segments
            label="Look"
            choices={BUTTON_STYLES}
            chosen={String(attrs.style ?? 'filled')}
            onChoose={(style) => onAttrs({ style })}
          />
          {align()}
        </>
      )
    case 'image':
      return (
        <>
          <ImageSettings {...props} />
          {align('center')}
        </>
      )
    case 'spacer':
      return (
        <NumberInput
          label="Height in pixels"
          value={Number(attrs.height)}
          min={4}
          max={200}
          onValue={(height) => height && onAttrs({ height })}
        />
      )
    case 'section':
      return (
        <>
          <ColorInput label="Background" color={attrs.bg as string | null} standard="#ffffff" onColor={(bg) => onAttrs({ bg })} />
          <NumberInput
            label="Space above and below"
            value={attrs.padding as number | null}
            min={0}
            max={64}
            placeholder="16"
            onValue={(padding) => onAttrs({ padding })}
          />
        </>
      )
    case 'columns':
      return <ColumnsSettings {...props} />
    case 'html':
      return (
        <Field name="source" label="HTML" hint="Put into the email as it is. The preview shows it.">
          <TextArea
            rows={12}
            spellCheck={false}
            className="font-mono text-code"
            value={String(attrs.source ?? '')}
            onChange={(event) => onAttrs({ source: event.target.value })}
          />
        </Field>
      )
    case 'social':
      return (
        <>
          <SocialSettings {...props} />
          {align('center')}
        </>
      )
    case 'footer':
      return (
        <>
          <FooterNote />
          {align('center')}
        </>
      )
    case 'condition':
      return <ConditionSettings attrs={attrs} onAttrs={onAttrs} />
    case 'loop':
      return <LoopSettings {...props} />
    default:
      return null
  }
}

const BUTTON_STYLES = [
  { value: 'filled', label: 'Filled' },
  { value: 'outline', label: 'Outline' },
  { value: 'link', label: 'Link' },
]

function ImageSettings({ attrs, onAttrs, onUpload }: BlockSettingsProps) {
  const isLogo = attrs.isLogo === true
  return (
    <>
      <CheckboxLine label="The logo of the brand" checked={isLogo} onChange={() => onAttrs({ isLogo: isLogo ? undefined : true })} />
      {!isLogo && (
        <>
          <Button size="sm" onClick={onUpload}>
            <Upload aria-hidden="true" />
            {attrs.src ? 'Replace the picture' : 'Upload a picture'}
          </Button>
          <LinkInput
            label="Address of the picture"
            href={String(attrs.src ?? '')}
            isValid={isImageSource}
            onHref={(src) => onAttrs({ src })}
          />
        </>
      )}
      <Field name="alt" label="Alternative text" hint="Read aloud, and shown while the picture is not.">
        <Input
          value={String(attrs.alt ?? '')}
          maxLength={1_000}
          autoComplete="off"
          onChange={(event) => onAttrs({ alt: event.target.value || undefined })}
        />
      </Field>
      <NumberInput
        label="Width in pixels"
        value={attrs.width as number | null}
        min={8}
        max={700}
        placeholder="Full width"
        onValue={(width) => onAttrs({ width })}
      />
      <LinkInput label="Link" href={String(attrs.href ?? '')} onHref={(href) => onAttrs({ href: href || undefined })} />
    </>
  )
}

const SHARES: Record<string, number[]> = {
  '1 : 1': [0.5, 0.5],
  '1 : 2': [0.33, 0.67],
  '2 : 1': [0.67, 0.33],
  '1 : 3': [0.25, 0.75],
  '3 : 1': [0.75, 0.25],
}

function ColumnsSettings({ editor, pos, columns, attrs, onAttrs }: BlockSettingsProps) {
  const shares = Array.isArray(attrs.widths) ? JSON.stringify(attrs.widths) : JSON.stringify(SHARES['1 : 1'])
  const chosen = Object.entries(SHARES).find(([, value]) => JSON.stringify(value) === shares)?.[0]
  const node = editor.state.doc.nodeAt(pos)
  return (
    <>
      <Segments
        label="Columns"
        choices={[2, 3, 4].map((count) => ({ value: count, label: String(count) }))}
        chosen={columns}
        onChoose={(count) => node && setColumnCount(editor.state, { pos, node }, count, editor.view.dispatch)}
      />
      {columns === 2 && (
        <Field name="widths" label="Widths">
          <Select
            options={{ ...Object.fromEntries(Object.keys(SHARES).map((name) => [name, name])), ...(!chosen && { own: 'Set by the API' }) }}
            value={chosen ?? 'own'}
            onChange={(event) => onAttrs({ widths: event.target.value === '1 : 1' ? undefined : SHARES[event.target.value] })}
          />
        </Field>
      )}
      <Segments
        label="On phones"
        choices={[
          { value: true, label: 'Below each other' },
          { value: false, label: 'Side by side' },
        ]}
        chosen={attrs.stack !== false}
        onChoose={(stack) => onAttrs({ stack: stack ? undefined : false })}
      />
    </>
  )
}

type SocialLink = { kind: string; href: string }

function SocialSettings({ attrs, onAttrs }: BlockSettingsProps) {
  const links = (Array.isArray(attrs.links) ? attrs.links : []) as SocialLink[]
  const change = (index: number, patch: Partial<SocialLink>) =>
    onAttrs({ links: links.map((link, at) => (at === index ? { ...link, ...patch } : link)) })
  return (
    <fieldset className="space-y-2">
      <legend className="font-medium text-ui">Profiles</legend>
      {links.map(({ kind, href }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two links may be equal
        <div key={index} className="flex items-end gap-1">
          <div className="min-w-0 flex-1 space-y-1">
            <Select
              aria-label={`Network of profile ${index + 1}`}
              options={{ ...SOCIAL_NAMES, ...(!(kind in SOCIAL_NAMES) && { [kind]: kind }) }}
              value={kind}
              onChange={(event) => change(index, { kind: event.target.value })}
            />
            <LinkInput label={`Link of profile ${index + 1}`} href={href} onHref={(changed) => change(index, { href: changed })} />
          </div>
          <IconButton label={`Remove profile ${index + 1}`} onClick={() => onAttrs({ links: links.filter((_, at) => at !== index) })}>
            <Trash2 />
          </IconButton>
        </div>
      ))}
      {links.length < 20 && (
        <Button size="sm" onClick={() => onAttrs({ links: [...links, { kind: nextKind(links), href: '' }] })}>
          <Plus aria-hidden="true" />
          Add a profile
        </Button>
      )}
    </fieldset>
  )
}

const nextKind = (links: SocialLink[]) => Object.keys(SOCIAL_NAMES).find((kind) => !links.some((link) => link.kind === kind)) ?? 'website'

function FooterNote() {
  const project = useProject()
  return (
    <p className="text-muted text-ui">
      Name, postal address and links come from the{' '}
      <Link to="/app/p/$projectId/settings/brand" params={{ projectId: project.id }} className="link">
        brand
      </Link>
      . The link to unsubscribe is always there.
    </p>
  )
}

function LoopSettings({ attrs, onAttrs }: BlockSettingsProps) {
  const item = String(attrs.item ?? '')
  return (
    <>
      <Field name="list" label="List" hint="A field or a value of the request that holds several items.">
        <Input
          value={String(attrs.list ?? '')}
          spellCheck={false}
          autoComplete="off"
          className="font-mono"
          onChange={(event) => onAttrs({ list: event.target.value })}
        />
      </Field>
      <Field name="item" label="Name of one item" hint={`Inside, write {{ ${item || 'item'}.name }}.`}>
        <Input
          value={item}
          spellCheck={false}
          autoComplete="off"
          className="font-mono"
          onChange={(event) => onAttrs({ item: event.target.value })}
        />
      </Field>
    </>
  )
}
