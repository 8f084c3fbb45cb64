import { Resolver } from 'node:dns'
import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'

const SECRET_KEY = 'x'.repeat(32)

test('the defaults are one process on this machine with an embedded database', () => {
  expect(loadConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 3000,
    publicUrl: 'http://localhost:3000',
    role: 'all',
    databaseUrl: undefined,
  })
})

test('an empty variable counts as not set', () => {
  expect(loadConfig({ PORT: '', DATABASE_URL: '', SECRET_KEY: '' })).toEqual(loadConfig({}))
})

test.each([
  [{ PORT: '70000' }, /PORT: /],
  [{ PORT: 'http' }, /PORT: /],
  [{ PUBLIC_URL: 'mail.example.com' }, /PUBLIC_URL: /],
  [{ PUBLIC_URL: 'ftp://mail.example.com' }, /PUBLIC_URL: /],
  [{ ROLE: 'boss' }, /ROLE: Must be one of: all, api, worker|ROLE: /],
  [{ SECRET_KEY: 'short' }, /SECRET_KEY: must have at least 32 characters/],
  [{ DATABASE_URL: 'mysql://x', SECRET_KEY }, /DATABASE_URL: must look like postgres:/],
  [{ DATABASE_URL: 'postgres://x@y/z' }, /SECRET_KEY is required with DATABASE_URL/],
  [{ DATABASE_URL: 'postgres://u@a:1,b:2/db', SECRET_KEY }, /DATABASE_URL: must name one host\..* TCP proxy/],
  [{ DATABASE_URL: 'postgres://u@a,b:1/db', SECRET_KEY }, /DATABASE_URL: must name one host/],
  [{ DATABASE_URL: 'postgres://u@/db?host=a,b&port=1,2', SECRET_KEY }, /DATABASE_URL: must name one host/],
  [
    { DATABASE_URL: 'postgres://u@a/db', DATABASE_DIRECT_URL: 'postgres://u@a,b/db', SECRET_KEY },
    /DATABASE_DIRECT_URL: must name one host/,
  ],
  [{ DATABASE_DIRECT_URL: 'postgres://u@a/db', SECRET_KEY }, /DATABASE_DIRECT_URL is the server behind the pooler of DATABASE_URL/],
  [{ DATABASE_FAILOVER: 'never' }, /DATABASE_FAILOVER: /],
  [{ DISABLE_SIGNUPS: 'maybe' }, /DISABLE_SIGNUPS: /],
  [{ TRUST_PROXY: 'true' }, /TRUST_PROXY: must be addresses or CIDRs/],
  [{ TRUST_PROXY: '1' }, /TRUST_PROXY: must be addresses or CIDRs/],
  [{ LOG_LEVEL: 'loud' }, /LOG_LEVEL: /],
  [{ INSTALLATION_NAMES: 'https://mail.example.com' }, /INSTALLATION_NAMES: must be host names without scheme and port/],
  [{ INSTALLATION_NAMES: 'mail.example.com:3000' }, /INSTALLATION_NAMES: /],
  [{ INSTALLATION_NAMES: 'mail.example.com,' }, /INSTALLATION_NAMES: /],
  [{ INSTALLATION_NAMES: '10.0.0.5' }, /INSTALLATION_NAMES: /],
  [{ UPLOAD_QUOTA_MB: '-1' }, /UPLOAD_QUOTA_MB: /],
  [{ S3_BUCKET: 'pictures' }, /also set S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY;/],
  [{ S3_BUCKET: 'pictures', S3_REGION: 'auto', S3_ACCESS_KEY_ID: 'id' }, /also set S3_SECRET_ACCESS_KEY;/],
  [{ S3_ENDPOINT: 'https://s3.example.com' }, /also set S3_BUCKET, S3_REGION,/],
  [{ S3_PUBLIC_URL: 'https://cdn.example.com' }, /also set S3_BUCKET, S3_REGION,/],
  [{ S3_ENDPOINT: 's3.example.com' }, /S3_ENDPOINT: /],
  [{ SMTP_URL: 'http://relay.example.com' }, /SMTP_URL: must look like smtp:/],
  [{ SMTP_URL: 'relay.example.com:25' }, /SMTP_URL: must look like smtp:/],
  [{ SMTP_URL: 'smtp://' }, /SMTP_URL: must look like smtp:/],
  [{ SMTP_URL: 'smtp://relay.example?dkim=no' }, /SMTP_URL: dkim must be "on", which is the default, or "off"/],
  [{ SES_REGION: 'Frankfurt' }, /SES_REGION: must be an AWS region/],
  [{ SES_REGION: 'eu-central-1', SES_ENDPOINT: 'ftp://ses.example' }, /SES_ENDPOINT: /],
  [{ SES_REGION: 'eu-central-1', SES_CONFIGURATION_SET: 'a set' }, /SES_CONFIGURATION_SET: must be the name/],
  [{ SES_CONFIGURATION_SET: 'sterna' }, /also set SES_REGION/],
  [{ SNS_TOPIC_ARNS: 'sterna' }, /SNS_TOPIC_ARNS: must be ARNs of topics/],
  [{ SNS_TOPIC_ARNS: 'arn:aws:sns:eu-central-1:123456789012:sterna,*' }, /SNS_TOPIC_ARNS: must be ARNs of topics/],
  [{ SMTP_URL: 'smtp://relay.example.com', SES_REGION: 'eu-central-1' }, /SMTP_URL or SES_REGION, not both/],
  [{ DNS_SERVERS: 'dns.example.com' }, /DNS_SERVERS: must be addresses/],
  [{ DNS_SERVERS: '9.9.9.9,' }, /DNS_SERVERS: must be addresses/],
  [{ DNS_SERVERS: '9.9.9.9:0' }, /DNS_SERVERS: must be addresses/],
  [{ DNS_SERVERS: '9.9.9.9:70000' }, /DNS_SERVERS: must be addresses/],
  [{ DNS_SERVERS: '[9.9.9.9]:53' }, /DNS_SERVERS: must be addresses/],
])('%j stops the start with a line that names it', (env, message) => {
  expect(() => loadConfig(env)).toThrow(message)
})

test.each([
  ['10.0.0.1, 192.168.0.0/16', ['10.0.0.1', '192.168.0.0/16']],
  ['loopback', ['loopback']],
  ['::1', ['::1']],
])('TRUST_PROXY=%s is read as %j', (given, read) => {
  expect(loadConfig({ TRUST_PROXY: given }).trustProxy).toEqual(read)
})

test.each<[object, boolean]>([
  [{}, true],
  [{ SMTP_URL: 'smtp://relay.example' }, true],
  [{ SMTP_URL: 'smtp://relay.example?dkim=on' }, true],
  [{ SMTP_URL: 'smtp://user:secret@relay.example:2525/?tls=required&dkim=off' }, false],
  [{ SES_REGION: 'eu-central-1' }, false],
])('with %j messages are signed here: %s', (env, signs) => {
  expect(loadConfig({ ...env }).signsMessages).toBe(signs)
})

test('a URL has no trailing slash', () => {
  expect(loadConfig({ PUBLIC_URL: 'https://mail.example.com//' }).publicUrl).toBe('https://mail.example.com')
})

test('a bucket needs four settings; its endpoint and public URL are optional', () => {
  const needed = { S3_BUCKET: 'pictures', S3_REGION: 'auto', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'key' }
  const s3 = { bucket: 'pictures', region: 'auto', accessKeyId: 'id', secretAccessKey: 'key' }
  expect(loadConfig({}).s3).toBeUndefined()
  expect(loadConfig(needed).s3).toEqual(s3)
  expect(loadConfig({ ...needed, S3_ENDPOINT: 'https://s3.example.com/', S3_PUBLIC_URL: 'https://cdn.example.com/' }).s3).toEqual({
    ...s3,
    endpoint: 'https://s3.example.com',
    publicUrl: 'https://cdn.example.com',
  })
})

test.each([
  [{}, 'sandbox'],
  [{ SMTP_URL: 'smtps://user:p%40ss@relay.example.com:465' }, 'smtp'],
  [{ SES_REGION: 'us-gov-west-1' }, 'ses'],
  [{ ROLE: 'worker' }, 'sandbox'],
  [{ ROLE: 'api', SMTP_URL: 'smtp://localhost' }, 'smtp'],
  // Adopts the transport of the installation.
  [{ ROLE: 'api' }, undefined],
])('%j means that mail leaves by %s', (env, mode) => {
  expect(loadConfig(env).transportKind).toBe(mode)
})

test.each(['9.9.9.9', '127.0.0.1:5353', '2620:fe::fe', '[2620:fe::fe]:53', '9.9.9.9, 149.112.112.112:53'])(
  'DNS_SERVERS=%s is one that the resolver takes',
  (given) => {
    const { dnsServers } = loadConfig({ DNS_SERVERS: given })
    expect(() => new Resolver().setServers(dnsServers!)).not.toThrow()
  },
)

test('names of the installation are read as clients send them', () => {
  const INSTALLATION_NAMES = 'Mail2.Example.com., sterna,sterna.prod.svc.cluster.local, bücher.example'
  expect(loadConfig({ INSTALLATION_NAMES }).installationNames).toEqual([
    'mail2.example.com',
    'sterna',
    'sterna.prod.svc.cluster.local',
    'xn--bcher-kva.example',
  ])
})

test.each(['postgres://sterna:a,b@db.example/sterna', 'postgres://sterna@/sterna?host=/run/postgresql'])(
  '%s names one host',
  (DATABASE_URL) => {
    expect(loadConfig({ DATABASE_URL, SECRET_KEY }).databaseUrl).toBe(DATABASE_URL)
  },
)
