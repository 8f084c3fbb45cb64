import type { Domain } from '@sterna/sdk'
import { CopyText } from '../../ui/text/copy-field.tsx'
import { Status } from '../../ui/text/status.tsx'
import { nameInZone, zonesOf } from './zone.ts'

type DnsRecord = Domain['records'][number]

const PURPOSES: Record<DnsRecord['purpose'], string> = { dkim: 'Signature (DKIM)', dmarc: 'Policy (DMARC)', link: 'Links' }

/** The DNS records of a domain, with what is published now. */
export function Records({ domain }: { domain: Domain }) {
  return (
    <ul className="grid grid-cols-1 divide-y divide-line border-line border-t text-ui xl:auto-cols-fr xl:grid-flow-col xl:grid-cols-none xl:divide-x xl:divide-y-0">
      {domain.records.map((record) => (
        <li key={`${record.type} ${record.name}`} className="space-y-2 px-4 py-3">
          <div className="flex flex-wrap items-center justify-between gap-2">
            <p className="font-medium">
              {PURPOSES[record.purpose] ?? record.purpose}{' '}
              <span className="font-normal text-muted">{record.required ? 'required' : 'recommended'}</span>
            </p>
            <Status kind="record" status={record.status} />
          </div>
          <dl className="grid grid-cols-[4rem_minmax(0,1fr)] gap-x-3 gap-y-1">
            <dt className="text-muted">Type</dt>
            <dd className="font-mono text-code">{record.type}</dd>
            <dt className="text-muted">Name</dt>
            <dd className="min-w-0">
              <CopyText value={record.name} label="Name" mono />
              {zonesOf(domain.domain).map((zone) => (
                <span key={zone} className="block text-muted">
                  in the zone {zone}: <CopyText value={nameInZone(record.name, zone)} label={`Name in the zone ${zone}`} mono />
                </span>
              ))}
            </dd>
            <dt className="text-muted">Value</dt>
            <dd className="min-w-0">
              <CopyText value={record.value} label="Value" mono />
            </dd>
            {record.status === 'mismatch' && (
              <>
                <dt className="text-muted">Found</dt>
                <dd className="min-w-0 space-y-1 text-danger">
                  {record.found.map((value) => (
                    <CopyText key={value} value={value} label="Found value" mono />
                  ))}
                </dd>
              </>
            )}
          </dl>
        </li>
      ))}
    </ul>
  )
}
