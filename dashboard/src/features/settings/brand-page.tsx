import type { Brand } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Plus, Trash2, Upload } from 'lucide-react'
import { useRef, useState } from 'react'
import { contentPreviewQuery, startersQuery } from '../../data/templates.ts'
import { ColorInput, LinkInput, NumberInput } from '../../design/panels/inputs.tsx'
import { EditorFrame } from '../../editor/editor-frame.tsx'
import type { Draft } from '../../editor/use-draft.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button, IconButton } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Input, Select, TextArea } from '../../ui/form/input.tsx'
import { useDebouncedValue } from '../../ui/form/use-debounced-value.ts'
import { MessageFrame } from '../../ui/message/message-frame.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { Card } from '../../ui/page/card.tsx'
import { ApplyBrand } from './apply-brand.tsx'
import { brandProblemOf, isImageAddress, withBrand } from './brand-values.ts'
import { useSettingsDraft } from './use-settings-draft.ts'

type BrandDraft = Draft<{ brand: Brand }>
type PartProps = { brand: Brand; onBrand: (patch: Brand) => void }

/** The look of all visual emails. */
export function BrandPage() {
  const { draft, mayManage, refusal } = useSettingsDraft('brand', ['brand'])
  const { brand } = draft.values
  const problem = refusal ?? brandProblemOf(brand)
  const change = (patch: Brand) => draft.set({ brand: withBrand(brand, patch) })
  return (
    <EditorFrame
      title="Brand"
      draft={draft as BrandDraft}
      consequence="New and changed emails get this look. Emails that are saved keep theirs until you apply it to them."
      {...(problem && { problem })}
      actions={mayManage && <ApplyBrand isDirty={draft.isDirty} />}
    >
      <div className="grid max-w-[1280px] grid-cols-1 gap-6 px-4 py-6 sm:px-6 lg:px-8 xl:grid-cols-[minmax(0,1fr)_minmax(0,30rem)]">
        <div className="min-w-0 space-y-4">
          {refusal && <Banner>{refusal}.</Banner>}
          <fieldset disabled={!mayManage} className="space-y-4">
            <LookCard brand={brand} onBrand={change} />
            <FooterCard brand={brand} onBrand={change} />
          </fieldset>
        </div>
        <Sample brand={brand} isValid={!brandProblemOf(brand)} />
      </div>
    </EditorFrame>
  )
}

const FONTS = {
  '': 'System font',
  'Arial, Helvetica, sans-serif': 'Arial',
  'Georgia, serif': 'Georgia',
  'Helvetica, Arial, sans-serif': 'Helvetica',
  'Tahoma, Verdana, sans-serif': 'Tahoma',
  'Times New Roman, Times, serif': 'Times New Roman',
  'Trebuchet MS, Helvetica, sans-serif': 'Trebuchet',
  'Verdana, Geneva, sans-serif': 'Verdana',
}

function LookCard({ brand, onBrand }: PartProps) {
  const { colors, font, radius } = brand
  const color = (patch: NonNullable<Brand['colors']>) => onBrand({ colors: { ...colors, ...patch } })
  return (
    <Card title="Look">
      <div className="space-y-4">
        <LogoInput brand={brand} onBrand={onBrand} />
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-3">
          <ColorInput
            label="Buttons and links"
            color={colors?.primary}
            standard="#0b6e82"
            onColor={(primary) => color({ primary: primary ?? null })}
          />
          <ColorInput
            label="Background"
            color={colors?.background}
            standard="#f4f6f8"
            onColor={(background) => color({ background: background ?? null })}
          />
          <ColorInput label="Text" color={colors?.text} standard="#24323a" onColor={(text) => color({ text: text ?? null })} />
        </div>
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <Field name="font" label="Font" hint="Every mail program has these.">
            <Select
              options={{ ...FONTS, ...(font && !(font in FONTS) && { [font]: font }) }}
              value={font ?? ''}
              onChange={(event) => onBrand({ font: event.target.value || null })}
            />
          </Field>
          <NumberInput
            label="Rounded corners in pixels"
            value={radius}
            min={0}
            max={32}
            placeholder="6"
            onValue={(value) => onBrand({ radius: value ?? null })}
          />
        </div>
      </div>
    </Card>
  )
}

function LogoInput({ brand: { logoUrl }, onBrand }: PartProps) {
  const api = useApi()
  const input = useRef<HTMLInputElement>(null)
  const [busy, setBusy] = useState(false)
  async function upload(file: File) {
    setBusy(true)
    try {
      onBrand({ logoUrl: (await api.uploads.image(file)).url })
    } catch (error) {
      toast(explain(error), { tone: 'danger' })
    } finally {
      setBusy(false)
    }
  }
  return (
    <div className="space-y-2">
      <div className="flex items-end gap-2">
        <div className="min-w-0 flex-1">
          <LinkInput
            label="Logo"
            href={logoUrl ?? ''}
            hint="PNG or JPEG, about 280 pixels wide. Without one, emails show the name below."
            isValid={isImageAddress}
            onHref={(href) => onBrand({ logoUrl: href || null })}
          />
        </div>
      </div>
      <Button size="sm" busy={busy} onClick={() => input.current?.click()}>
        <Upload aria-hidden="true" />
        Upload a logo
      </Button>
      <input
        ref={input}
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp"
        aria-label="Logo file"
        className="hidden"
        onChange={(event) => event.target.files?.[0] && void upload(event.target.files[0])}
      />
      {logoUrl && isImageAddress(logoUrl) && !logoUrl.includes('{') && (
        <img src={logoUrl} alt="Logo" className="max-h-16 max-w-48 rounded border border-line bg-white p-2" />
      )}
    </div>
  )
}

const MAX_LINKS = 10

function FooterCard({ brand: { footer }, onBrand }: PartProps) {
  const links = footer?.links ?? []
  const change = (patch: NonNullable<Brand['footer']>) => onBrand({ footer: { ...footer, ...patch } })
  const changeLink = (index: number, patch: Partial<(typeof links)[number]>) =>
    change({ links: links.map((link, at) => (at === index ? { ...link, ...patch } : link)) })
  return (
    <Card title="Footer">
      <div className="space-y-4">
        <Field name="footerName" label="Name" hint="Of the company or person that sends the emails.">
          <Input
            value={footer?.name ?? ''}
            maxLength={200}
            autoComplete="organization"
            onChange={(event) => change({ name: event.target.value || null })}
          />
        </Field>
        <Field name="footerAddress" label="Postal address" hint="Laws on commercial email ask for one in many countries.">
          <TextArea
            rows={3}
            value={footer?.address ?? ''}
            maxLength={500}
            onChange={(event) => change({ address: event.target.value || null })}
          />
        </Field>
        <fieldset className="space-y-3">
          <legend className="font-medium text-ui">Links</legend>
          <p className="text-muted text-ui">The link to unsubscribe follows them; it is always there.</p>
          {links.map(({ label, href }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two links may be equal
            <div key={index} className="grid grid-cols-[minmax(0,1fr)_minmax(0,2fr)_auto] items-start gap-2">
              <Field name={`label${index}`} label={`Text ${index + 1}`}>
                <Input
                  value={label}
                  maxLength={100}
                  autoComplete="off"
                  onChange={(event) => changeLink(index, { label: event.target.value })}
                />
              </Field>
              <LinkInput label={`Link ${index + 1}`} href={href} onHref={(changed) => changeLink(index, { href: changed })} />
              <IconButton
                label={`Remove link ${index + 1}`}
                className="mt-6"
                onClick={() => change({ links: links.filter((_, at) => at !== index) })}
              >
                <Trash2 />
              </IconButton>
            </div>
          ))}
          {links.length < MAX_LINKS && (
            <Button size="sm" onClick={() => change({ links: [...links, { label: '', href: '' }] })}>
              <Plus aria-hidden="true" />
              Add a link
            </Button>
          )}
        </fieldset>
      </div>
    </Card>
  )
}

const SAMPLE_AFTER_MS = 400
const SAMPLE_KEY = 'newsletter'

/** A starter in this look, as the server renders it. */
function Sample({ brand, isValid }: { brand: Brand; isValid: boolean }) {
  const project = useProject()
  const starters = useQuery(startersQuery(project.id)).data
  const starter = starters?.find(({ key }) => key === SAMPLE_KEY) ?? starters?.[0]
  const [isDark, setIsDark] = useState(false)
  // Only what is typed waits: the first look is there at once.
  const theme = JSON.parse(useDebouncedValue(JSON.stringify(brand), SAMPLE_AFTER_MS)) as Brand
  const design = starter && { ...starter.design, settings: { ...starter.design.settings, theme } }
  const request = JSON.stringify({ subject: 'Sample', design, type: 'MARKETING', frame: true })
  const preview = useQuery({ ...contentPreviewQuery(project.id, request), enabled: design !== undefined && isValid })
  return (
    <section
      aria-label="Sample"
      aria-busy={(isValid && !preview.data && !preview.error) || undefined}
      className="h-[44rem] min-w-0 overflow-hidden rounded-lg border border-line bg-surface xl:sticky xl:top-20"
    >
      <div className="flex h-11 items-center justify-between border-line border-b px-3 text-ui">
        <span className="text-muted">A newsletter in this look</span>
        <Button size="sm" variant="quiet" aria-pressed={isDark} className="aria-pressed:bg-accent-soft" onClick={() => setIsDark(!isDark)}>
          Dark
        </Button>
      </div>
      <div className="h-[calc(100%-2.75rem)]">
        {preview.error && <Banner tone="danger">{explain(preview.error)}</Banner>}
        {preview.data?.frameUrl && <MessageFrame fill images title="Sample email" url={preview.data.frameUrl} dark={isDark} />}
      </div>
    </section>
  )
}
