import { FileSpreadsheet, Upload } from 'lucide-react'
import { type DragEvent, useState } from 'react'
import { Button, buttonClass } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { TextArea } from '../../../ui/form/input.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { Card } from '../../../ui/page/card.tsx'
import { formatBytes } from '../../../ui/text/format-bytes.ts'
import { type CsvFile, MAX_FILE_BYTES, nameOfSeparator, readCsvFile } from './csv-file.ts'

type ImportFileProps = { file: CsvFile | undefined; onFile: (file: CsvFile | undefined) => void }

export function ImportFile({ file, onFile }: ImportFileProps) {
  const [problem, setProblem] = useState<string>()

  async function read(chosen: Blob, name: string) {
    setProblem(chosen.size > MAX_FILE_BYTES ? tooLarge(chosen.size) : undefined)
    if (chosen.size <= MAX_FILE_BYTES) onFile(readCsvFile(name, new Uint8Array(await chosen.arrayBuffer())))
  }
  if (file) return <ChosenFile file={file} onChange={() => onFile(undefined)} />
  return (
    <Card title="File" description="CSV with one contact in each row. The first row names the columns.">
      <div className="space-y-4">
        {problem && <Banner tone="danger">{problem}</Banner>}
        <DropZone onFile={(chosen) => read(chosen, chosen.name)} />
        <Paste onText={(text) => read(new Blob([text]), 'pasted rows')} />
      </div>
    </Card>
  )
}

const tooLarge = (bytes: number) =>
  `The file has ${formatBytes(bytes)}; at most ${formatBytes(MAX_FILE_BYTES)} can be imported at a time. Split it, with the row of column names in each file.`

function ChosenFile({ file, onChange }: { file: CsvFile; onChange: () => void }) {
  const { name, bytes, parts, encoding, separator, isHeaderAdded } = file
  return (
    <Card
      title={
        <span className="flex min-w-0 items-center gap-2">
          <FileSpreadsheet className="size-4 shrink-0 text-accent" aria-hidden="true" />
          <span className="min-w-0 wrap-break-word">{name}</span>
        </span>
      }
      description={`${formatBytes(bytes)}${parts.length > 1 ? `, sent in ${parts.length} parts` : ''}, ${encoding}, separated by ${nameOfSeparator(separator)}`}
      actions={
        <Button size="sm" onClick={onChange}>
          Choose another
        </Button>
      }
    >
      {isHeaderAdded && <Banner>The first row is not a header: it holds an address. The columns were given names.</Banner>}
    </Card>
  )
}

function DropZone({ onFile }: { onFile: (file: File) => void }) {
  const [isOver, setIsOver] = useState(false)
  const over = (event: DragEvent) => {
    event.preventDefault()
    setIsOver(true)
  }
  function drop(event: DragEvent) {
    event.preventDefault()
    setIsOver(false)
    const [file] = event.dataTransfer.files
    if (file) onFile(file)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the field in it works by keyboard
    <div
      onDragOver={over}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
      className={`flex flex-col items-center gap-3 rounded-lg border border-dashed px-6 py-8 text-center ${isOver ? 'border-accent bg-accent-soft' : 'border-edge/50'}`}
    >
      <label
        className={`${buttonClass('secondary')} cursor-pointer has-focus-visible:outline-2 has-focus-visible:outline-accent has-focus-visible:outline-offset-2`}
      >
        <Upload aria-hidden="true" />
        Choose a file
        <input
          type="file"
          accept=".csv,.txt,.tsv,text/csv,text/plain"
          className="sr-only"
          onChange={(event) => event.target.files?.[0] && onFile(event.target.files[0])}
        />
      </label>
      <p className="text-muted text-ui">or drop it here. At most {formatBytes(MAX_FILE_BYTES)}.</p>
    </div>
  )
}

function Paste({ onText }: { onText: (text: string) => void }) {
  const [text, setText] = useState('')
  return (
    <div className="space-y-2">
      <Field name="rows" label="Or paste rows" hint="From a spreadsheet or a CSV file. A list of addresses needs no row of column names.">
        <TextArea
          rows={4}
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder={'email,plan\nada@example.com,pro'}
          spellCheck={false}
          className="font-mono"
        />
      </Field>
      <Button size="sm" disabled={text.trim() === ''} onClick={() => onText(text)}>
        Use these rows
      </Button>
    </div>
  )
}
