/** Where a client connects, and with which key. */
export type SmtpAccess = { host: string; port: number; tls: 'starttls' | 'implicit' | 'none'; key: string; from: string }

const ENCRYPTION = { starttls: 'STARTTLS', implicit: 'TLS from the start (SSL/TLS)' }

/** `plaintext`: clients on other machines may log in without encryption. */
export function encryptionOf({ tls, plaintext }: { tls: SmtpAccess['tls']; plaintext: boolean }) {
  if (tls !== 'none') return ENCRYPTION[tls]
  return plaintext ? 'None: everybody on the way can read the key' : 'None: only from the same machine'
}

/** The programs for which there is an example. */
export const SMTP_CLIENTS = {
  nodemailer: 'Node.js',
  python: 'Python',
  go: 'Go',
  wordpress: 'WordPress',
  supabase: 'Supabase',
  keycloak: 'Keycloak',
} as const
export type SmtpClient = keyof typeof SMTP_CLIENTS

/** The user name can be anything; this one is shown everywhere. */
export const SMTP_USER = 'sterna'

/** `title`: where to paste it. */
export const smtpSnippet = (client: SmtpClient, access: SmtpAccess): { title: string; code: string } => ({
  title: TITLES[client],
  code: SNIPPETS[client](access).join('\n'),
})

const TITLES: Record<SmtpClient, string> = {
  nodemailer: 'send.mjs, with nodemailer',
  python: 'send.py',
  go: 'main.go',
  wordpress: 'wp-content/mu-plugins/smtp.php',
  supabase: 'supabase/config.toml, or Authentication → Emails → SMTP settings',
  keycloak: 'Realm settings → Email, or kcadm.sh',
}

const SNIPPETS: Record<SmtpClient, (access: SmtpAccess) => string[]> = {
  nodemailer: ({ host, port, tls, key, from }) => [
    "import nodemailer from 'nodemailer'",
    '',
    'const transport = nodemailer.createTransport({',
    `  host: '${host}',`,
    `  port: ${port},`,
    `  secure: ${tls === 'implicit'},`,
    ...(tls === 'starttls' ? ['  requireTLS: true,'] : []),
    `  auth: { user: '${SMTP_USER}', pass: '${key}' },`,
    '})',
    `await transport.sendMail({ from: '${from}', to: 'you@example.com', subject: 'Hello', text: 'It works.' })`,
  ],
  python: ({ host, port, tls, key, from }) => [
    'import smtplib',
    'from email.message import EmailMessage',
    '',
    'message = EmailMessage()',
    `message["From"], message["To"], message["Subject"] = "${from}", "you@example.com", "Hello"`,
    'message.set_content("It works.")',
    `with smtplib.${tls === 'implicit' ? 'SMTP_SSL' : 'SMTP'}("${host}", ${port}) as server:`,
    ...(tls === 'starttls' ? ['    server.starttls()'] : []),
    `    server.login("${SMTP_USER}", "${key}")`,
    '    server.send_message(message)',
  ],
  go: ({ host, port, tls, key, from }) => [
    'package main',
    '',
    'import (',
    '\t"log"',
    '',
    '\tmail "github.com/wneessen/go-mail"',
    ')',
    '',
    'func main() {',
    '\tm := mail.NewMsg()',
    `\tm.From("${from}")`,
    '\tm.To("you@example.com")',
    '\tm.Subject("Hello")',
    '\tm.SetBodyString(mail.TypeTextPlain, "It works.")',
    `\tc, err := mail.NewClient("${host}", mail.WithPort(${port}), ${GO_TLS[tls]},`,
    `\t\tmail.WithSMTPAuth(mail.SMTPAuthPlain${tls === 'none' ? 'NoEnc' : ''}), mail.WithUsername("${SMTP_USER}"), mail.WithPassword("${key}"))`,
    '\tif err == nil {',
    '\t\terr = c.DialAndSend(m)',
    '\t}',
    '\tif err != nil {',
    '\t\tlog.Fatal(err)',
    '\t}',
    '}',
  ],
  wordpress: ({ host, port, tls, key, from }) => [
    '<?php',
    "add_action('phpmailer_init', function ($mail) {",
    '  $mail->isSMTP();',
    `  $mail->Host = '${host}';`,
    `  $mail->Port = ${port};`,
    `  $mail->SMTPSecure = '${PHP_TLS[tls]}';`,
    ...(tls === 'none' ? ['  $mail->SMTPAutoTLS = false;'] : []),
    '  $mail->SMTPAuth = true;',
    `  $mail->Username = '${SMTP_USER}';`,
    `  $mail->Password = '${key}';`,
    '});',
    `add_filter('wp_mail_from', fn () => '${from}');`,
  ],
  supabase: ({ host, port, key, from }) => [
    '[auth.email.smtp]',
    'enabled = true',
    `host = "${host}"`,
    `port = ${port}`,
    `user = "${SMTP_USER}"`,
    `pass = "${key}"`,
    `admin_email = "${from}"`,
    'sender_name = "Your app"',
  ],
  keycloak: ({ host, port, tls, key, from }) => [
    'kcadm.sh update realms/YOUR_REALM \\',
    `  -s 'smtpServer.host=${host}' -s 'smtpServer.port=${port}' \\`,
    `  -s 'smtpServer.starttls=${tls === 'starttls'}' -s 'smtpServer.ssl=${tls === 'implicit'}' \\`,
    `  -s 'smtpServer.auth=true' -s 'smtpServer.user=${SMTP_USER}' -s 'smtpServer.password=${key}' \\`,
    `  -s 'smtpServer.from=${from}'`,
  ],
}

const GO_TLS = { starttls: 'mail.WithTLSPolicy(mail.TLSMandatory)', implicit: 'mail.WithSSL()', none: 'mail.WithTLSPolicy(mail.NoTLS)' }
const PHP_TLS = { starttls: 'tls', implicit: 'ssl', none: '' }
